import Glibc
import Terminal
import Threading

/// A file that lines are added to, each whole and at once; `-` is standard error.
///
/// A line that can't be written is lost, and the first one is told on standard error: what the lines tell
/// of goes on.
final class LogFile: Sendable {
    private struct State {
        var descriptor: Int32
        var lost = 0
    }

    private let path: String
    private let console: Console
    /// nil for standard error.
    private let state: Locked<State>?

    /// Opens the file, or makes it, for its owner to write and its group to read.
    ///
    /// - Parameter option: The option that names it.
    init(_ path: String, of option: Syntax.Option, _ console: Console) throws {
        self.path = path
        self.console = console
        guard path != "-" else {
            state = nil
            return
        }
        let descriptor = Self.open(path)
        guard descriptor >= 0 else {
            throw Refusal(
                unsafe "'\(path.printable)' can't be opened: \(String(cString: strerror(errno))). Check "
                    + "--\(option.name).")
        }
        state = Locked(State(descriptor: descriptor))
    }

    deinit { if let state { close(state.withLock { $0.descriptor }) } }

    /// Checks whether a log could be opened, and makes nothing.
    ///
    /// - Parameter path: nil if there is to be none.
    static func check(_ path: String?, of option: Syntax.Option) throws {
        guard let path, path != "-" else { return }
        if unsafe access(path, W_OK) == 0 { return }
        var reason = errno
        if reason == ENOENT {
            let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : path[..<$0] }
            if unsafe access(String(folder ?? "."), W_OK | X_OK) == 0 { return }
            reason = errno
        }
        throw Refusal(
            unsafe "'\(path.printable)' can't be opened: \(String(cString: strerror(reason))). Check "
                + "--\(option.name).")
    }

    private static func open(_ path: String) -> Int32 {
        unsafe Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o640)
    }

    /// Adds a line.
    func add(_ line: String) {
        guard let state else { return console.complain(line) }
        let bytes = Array((line + "\n").utf8)
        let complaint: String? = state.withLock { state in
            let count = unsafe write(state.descriptor, bytes, bytes.count)
            let lost = state.lost
            guard count == bytes.count else {
                state.lost += 1
                let reason =
                    unsafe count < 0 ? String(cString: strerror(errno)) : "no space is left"
                return lost == 0
                    ? "can't be written: \(reason). Lines are lost until it can." : nil
            }
            state.lost = 0
            return lost == 0 ? nil : "is written again. Lines that were lost: \(lost)."
        }
        if let complaint { console.complain("The log '\(path.printable)' \(complaint)") }
    }

    /// Goes on in the file that has the path now, after the one before was moved away.
    ///
    /// - Throws: A refusal if it can't be opened; then lines go on to the one before.
    func reopen() throws {
        guard let state else { return }
        let descriptor = Self.open(path)
        guard descriptor >= 0 else {
            throw Refusal(
                unsafe "'\(path.printable)' can't be opened: \(String(cString: strerror(errno))).")
        }
        let old = state.withLock { state in
            defer { state.descriptor = descriptor }
            return state.descriptor
        }
        close(old)
    }
}
