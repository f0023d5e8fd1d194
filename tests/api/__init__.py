"""The promises of the public interface, each on every device."""
