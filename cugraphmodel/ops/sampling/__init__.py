"""Reads between the elements: GridSample, RoiAlign, MaxRoiPool, DeformConv."""

from cugraphmodel.ops.sampling import deform_conv as deform_conv
from cugraphmodel.ops.sampling import grid_sample as grid_sample
from cugraphmodel.ops.sampling import roi as roi
