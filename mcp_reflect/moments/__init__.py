"""What is said at each moment of a session: functions of plain values, which know no host and no bank."""
