import Foundation
import Terminal

/// Writes manual pages and completions for shells, for those who make packages.
struct ManualCommand: Command {
    private static let date = Syntax.Option(
        "date", "DATE", "The date of the pages, such as 2026-01-31.")

    let program: String
    let version: String
    let programSummary: String
    let commands: [any Command]

    let name = "manual"
    let summary = "Writes manual pages and completions for shells into a folder."
    let syntax = Syntax(
        operands: [Syntax.Operand(name: "DIR", summary: "The folder, which is made.")],
        options: [date])

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        guard let date = arguments.text(Self.date) else {
            throw UsageError("The option --date is missing.")
        }
        let page = ManualPage(date: date, program: program, version: version)
        let completions = Completions(program: program, commands: commands)
        var files = [
            "man1/\(program).1": page.overview(programSummary, commands),
            "bash/\(program)": completions.bash, "zsh/_\(program)": completions.zsh,
            "fish/\(program).fish": completions.fish,
        ]
        for command in commands {
            files["man1/\(program)-\(command.name).1"] = page.page(of: command)
        }
        for (path, text) in files {
            let url = URL(fileURLWithPath: arguments.operands[0]).appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: url, atomically: false, encoding: .utf8)
        }
        return .success
    }
}
