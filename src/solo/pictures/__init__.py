"""Pictures and films drawn without a screen: robots, terrain, depth, maps, curves."""
