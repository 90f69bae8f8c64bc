import Glibc

/// Where the program writes.
package struct Console: Sendable {
    /// What was asked for: standard output.
    package let output: Output
    /// What is said about it: standard error.
    private let complaints: Output

    package init(output: Int32 = STDOUT_FILENO, complaints: Int32 = STDERR_FILENO) {
        self.output = Output(descriptor: output)
        self.complaints = Output(descriptor: complaints)
    }

    /// Whether standard error is a terminal.
    package var isTerminal: Bool { isatty(complaints.descriptor) == 1 }

    /// The width of the terminal in columns; nil if standard output is not a terminal.
    package var columns: Int? { Self.columns(output) }

    private static func columns(_ output: Output) -> Int? {
        var size = winsize()
        guard unsafe ioctl(output.descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return nil
        }
        return Int(size.ws_col)
    }

    /// Writes to standard error at once.
    package func complain(_ text: String) {
        complaints.line(text)
        complaints.flush()
    }

    /// The variable by which whoever starts the program asks for bars though it is no terminal.
    package static let progressVariable = "BACKSTITCH_PROGRESS"

    /// A bar on standard error for work that takes long.
    package func progress(_ title: String) -> Progress {
        let isAsked = unsafe getenv(Self.progressVariable) != nil
        return Progress(title, output: complaints, isShown: isTerminal || isAsked) {
            [complaints] in Self.columns(complaints)
        }
    }
}
