"""From trained networks to a policy bundle that runs without torch."""
