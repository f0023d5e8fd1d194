"""Plans and arenas, without any device."""
