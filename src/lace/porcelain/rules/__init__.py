"""Rules as people write them: files, facts beside them, their layout, and a workbench over resident facts."""
