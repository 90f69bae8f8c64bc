import Foundation

/// The command `backstitch-bench`.
@main
enum Bench {
    static func main() async {
        var arguments = Arguments(CommandLine.arguments.dropFirst())
        do {
            switch arguments.next() {
            case "compare":
                try await CompareCommand.run(CompareCommand.options(&arguments))
            case "engine":
                try await EngineCommand.run(EngineCommand.options(&arguments))
            case SavesCommand.name:
                try SavesCommand.run(SavesCommand.options(&arguments))
            case SpaceCommand.name:
                try await SpaceCommand.run(SpaceCommand.options(&arguments))
            case CrashCommands.saveAndWait:
                try CrashCommands.saveAndWait(&arguments)
            case CrashCommands.timeToOpen:
                try CrashCommands.timeToOpen(&arguments)
            case SaveTimesCommand.name:
                try await SaveTimesCommand.run(&arguments)
            case nil, "help", "--help", "-h":
                print(help)
            case let word?:
                throw Arguments.Mistake(description: "There is no command \(word).\n\n\(help)")
            }
        } catch {
            Progress.clear()
            FileHandle.standardError.write(Data("backstitch-bench: \(error)\n".utf8))
            exit(error is Arguments.Mistake ? 64 : 1)
        }
    }

    private static let help = """
        usage: backstitch-bench compare|engine|saves|space [options]

        \(CompareCommand.help)

        \(EngineCommand.help)

        \(SavesCommand.help)

        \(SpaceCommand.help)
        """
}
