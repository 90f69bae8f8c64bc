import Foundation

/// What is going on, on the standard error.
enum Progress {
    private static let isTerminal = isatty(STDERR_FILENO) == 1

    /// Replaces the last line on a terminal; adds one elsewhere.
    static func show(_ text: String) {
        write(isTerminal ? "\r\u{1B}[K\(text)" : "\(text)\n")
    }

    /// Takes the last line away on a terminal.
    static func clear() {
        if isTerminal { write("\r\u{1B}[K") }
    }

    /// Adds a line that stays.
    static func warn(_ text: String) {
        clear()
        write("warning: \(text)\n")
    }

    private static func write(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}
