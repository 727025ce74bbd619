from hetcal.models.child import read_messages


class Ended:
    """A child that has ended and left these files."""

    running = False

    def __init__(self, directory):
        self.directory = directory

    def messages(self):
        return read_messages(self.directory / "messages")

    def finish(self):
        return self.directory

    def close(self):
        pass
