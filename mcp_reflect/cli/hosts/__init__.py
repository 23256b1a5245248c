"""The hosts we can register ourselves in: where each keeps its configuration, and how it is changed."""
