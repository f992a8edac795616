"""Why a record would be sent, was sent or is held back: asked before an exchange, and long after it."""
