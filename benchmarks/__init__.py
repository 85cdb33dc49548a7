"""Every figure that the documentation claims, with the goal and the limit or the peer of the same run beside it."""
