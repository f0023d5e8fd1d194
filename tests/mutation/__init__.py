"""Mutation of the kernels: does the suite notice a fault that somebody writes into one?"""
