import Glibc
import Terminal

/// The `backstitch` program.
@main
struct Program {
    private static let (name, version) = (About.name, About.version)
    private static let summary = "Inspects, repairs, syncs and serves Backstitch stores."

    /// All commands, in the order of the help.
    static let commands: [any Command] = [
        InspectCommand(), LogCommand(), HistoryCommand(), ConflictsCommand(), QueryCommand(),
        VerifyCommand(),
        RebuildCommand(), DoctorCommand(), CompactCommand(), EraseCommand(), BackupCommand(),
        AssetsCommand(),
        ExportCommand(), ImportCommand(), SyncCommand(), StudioCommand(version: version),
        HubCommand(),
        SimulateCommand(), DemoCommand(),
    ]

    /// What only this program calls, and no help lists.
    private static let hiddenCommands: [any Command] = [
        DemoDeviceCommand(),
        ManualCommand(
            program: name, version: version, programSummary: summary, commands: commands),
    ]

    static func main() async {
        // A reader that goes away is noticed by what `write` returns.
        signal(SIGPIPE, SIG_IGN)
        // So is a limit on the size of files (`ulimit -f`).
        signal(SIGXFSZ, SIG_IGN)
        let console = Console()
        var code = await run(Array(CommandLine.arguments.dropFirst()), console)
        console.output.flush()
        if let reason = console.output.failure {
            console.complain("backstitch: The output can't be written: \(reason).")
            code = .failure
        }
        exit(code.rawValue)
    }

    /// Does what the arguments say.
    static func run(_ words: [String], _ console: Console) async -> ExitCode {
        guard let first = words.first else {
            console.complain(help)
            return .failure
        }
        switch first {
        case "--help", "-h":
            console.output.line(help)
            return .success
        case "--version":
            console.output.line("\(name) \(version)")
            return .success
        case "help":
            return await run(words.dropFirst().prefix(1) + ["--help"], console)
        default:
            break
        }
        guard let command = (commands + hiddenCommands).first(where: { $0.name == first }) else {
            let kind = first.hasPrefix("-") ? "option" : "command"
            let suggestion = Suggestion.text(first, among: commands.map(\.name))
            console.complain(
                """
                \(name): There is no \(kind) '\(first.printable)'.\(suggestion)
                Run '\(name) --help' for the list.
                """)
            return .failure
        }
        return await run(command, Array(words.dropFirst()), console)
    }

    private static func run(
        _ command: any Command, _ words: [String], _ console: Console
    ) async -> ExitCode {
        do {
            guard let arguments = try Arguments(words, syntax: command.syntax) else {
                console.output.line(command.partialHelp(words) ?? command.help)
                return .success
            }
            let notice = command.interruptionText(arguments).map {
                Interruption(saying: "\(name) \(command.name): Interrupted. \($0)", console)
            }
            defer { notice?.cancel() }
            return try await command.run(arguments, console)
        } catch let error as UsageError {
            console.complain(
                """
                \(name) \(command.name): \(error.message)
                Usage: \(command.usage)
                Run '\(name) \(command.name) --help' for more.
                """)
        } catch {
            console.output.flush()
            console.complain("\(name) \(command.name): \(Failure.describe(error))")
        }
        return .failure
    }

    private static var help: String {
        let rows = commands.map { [$0.name, $0.summary] }
        return """
            \(summary)

            Usage: \(name) COMMAND [OPTIONS]

            Commands:
            \(Table.lines(rows, indent: 2).joined(separator: "\n"))

            Options:
              --help     Shows this help, or that of a command.
              --version  Shows the version.

            Exit codes: 0 done; 1 done, and a store is not consistent; 2 not done.
            A reader that closes a pipe early is no error: the exit code is 0, as when it reads all.
            """
    }
}

extension Command {
    /// The one line that shows how to call it.
    var usage: String {
        let operands = syntax.operands.map(\.name) + syntax.optionalOperands.map { "[\($0.name)]" }
        return ([About.name, name] + operands + ["[OPTIONS]"]).joined(separator: " ")
    }

    /// All there is to say of it.
    var help: String {
        let operands = (syntax.operands + syntax.optionalOperands).map { [$0.name, $0.summary] }
        let options =
            syntax.options.map { option in
                ["--" + option.name + (option.value.map { " " + $0 } ?? ""), option.summary]
            } + [["--help", "Shows this."]]
        var text = """
            \(summary)

            Usage: \(usage)

            \(Table.lines(operands + options, indent: 2).joined(separator: "\n"))
            """
        if !syntax.notes.isEmpty { text += "\n\n" + syntax.notes }
        return text
    }
}
