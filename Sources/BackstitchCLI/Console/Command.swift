import Terminal

/// What the program can be told to do.
///
/// To add one, write a type and list it in ``Program/commands``.
protocol Command: Sendable {
    /// The word that calls it.
    var name: String { get }
    /// What it does, in a line.
    var summary: String { get }
    /// What it takes.
    var syntax: Syntax { get }
    /// Does it.
    ///
    /// - Throws: ``UsageError`` for arguments that make no sense; anything else is a failure, whose
    ///   message is printed.
    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode
    /// What to say where the program is interrupted: what stays, and how to go on. Nil for commands
    /// that are through in a moment, or take care of it themselves.
    func interruptionText(_ arguments: Arguments) -> String?
    /// The help of a part of it, such as an action, that is named by the words beside `--help`; nil for
    /// the help of all.
    func partialHelp(_ words: [String]) -> String?
}

extension Command {
    func partialHelp(_ words: [String]) -> String? { nil }
    func interruptionText(_ arguments: Arguments) -> String? { nil }
}

/// What the program tells its caller.
enum ExitCode: Int32, Sendable {
    /// It is done, and what was asked is true.
    case success = 0
    /// It is done, and what was asked is not true: a store is not consistent.
    case negative = 1
    /// It could not be done.
    case failure = 2
    /// The disk failed while a service wrote, so that it has to be started again. The number is that of
    /// `EX_TEMPFAIL` in `sysexits.h`.
    case startAgain = 75
}
