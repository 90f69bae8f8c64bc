import ChildProcess
import Foundation
import TestBudget
import Testing

@testable import BackstitchCLI

/// Manual pages and completions, which are made of the table of commands.
@Suite(.budgeted) struct ManualTests {
    private let fixture: StoreFixture
    private let folder: String

    init() throws {
        fixture = try StoreFixture()
        folder = fixture.root + "/manual"
        let result = try Runner.run("manual", folder, "--date", "2026-01-31")
        #expect(result.code == 0 && result.output == "" && result.complaint == "")
    }

    private func text(_ path: String) throws -> String {
        try String(contentsOfFile: folder + "/" + path, encoding: .utf8)
    }

    @Test func `every command, option and action is in the pages and in the completions`() throws {
        let (bash, zsh, fish) = (
            try text("bash/backstitch"), try text("zsh/_backstitch"),
            try text("fish/backstitch.fish")
        )
        let overview = try text("man1/backstitch.1")
        for command in Program.commands {
            let page = try text("man1/backstitch-\(command.name).1")
            #expect(overview.contains("backstitch\\-\(command.name)"))
            let title = "BACKSTITCH\\-\(command.name.uppercased())"
            #expect(page.hasPrefix(".TH \"\(title)\" 1 2026-01-31"))
            let branch = "    \(command.name))\n"
            #expect(bash.contains(branch) && zsh.contains(branch))
            #expect(fish.contains("__fish_use_subcommand -f -a \(command.name) -d"))
            for option in command.syntax.options {
                #expect(
                    page.contains(
                        ".B \\-\\-" + option.name.replacingOccurrences(of: "-", with: "\\-")))
                #expect(bash.contains("--\(option.name)") && zsh.contains("--\(option.name)["))
                #expect(
                    fish.contains("seen_subcommand_from \(command.name)' -l \(option.name) "))
            }
        }
        for action in HubAction.allCases {
            for text in [bash, zsh, fish] { #expect(text.contains(action.rawValue)) }
        }
        // What no help lists is not offered.
        #expect(!bash.contains("manual") && !overview.contains("manual"))
    }

    @Test func `the same date gives the same files, and a date has to be given`() throws {
        let other = fixture.root + "/other"
        #expect(try Runner.run("manual", other, "--date", "2026-01-31").code == 0)
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder).sorted()
        #expect(try FileManager.default.subpathsOfDirectory(atPath: other).sorted() == names)
        #expect(names.count > Program.commands.count)
        for name in names {
            #expect(
                FileManager.default.contents(atPath: folder + "/" + name)
                    == FileManager.default.contents(atPath: other + "/" + name))
        }
        #expect(try Runner.run("manual", other).complaint.contains("--date"))
    }

    @Test(arguments: [
        ["/usr/bin/bash", "-n", "bash/backstitch"], ["/usr/bin/zsh", "-n", "zsh/_backstitch"],
        ["/usr/bin/fish", "--no-execute", "fish/backstitch.fish"],
        ["/usr/bin/mandoc", "-T", "lint", "-W", "warning", "man1/backstitch.1"],
        ["/usr/bin/mandoc", "-T", "lint", "-W", "warning", "man1/backstitch-hub.1"],
        ["/usr/bin/mandoc", "-T", "lint", "-W", "warning", "man1/backstitch-query.1"],
    ])
    func `the programs that read them find nothing wrong`(words: [String]) throws {
        guard access(words[0], X_OK) == 0 else {
            print("SKIPPED: \(words[0]) is missing, and did not look at \(words.last ?? "").")
            return
        }
        let child = try ChildProcess(words.dropLast() + [folder + "/" + (words.last ?? "")])
        let said = child.output.readDataToEndOfFile() + child.complaint.readDataToEndOfFile()
        #expect(try child.wait() == .exit(code: 0), "\(String(decoding: said, as: UTF8.self))")
    }

    @Test func `bash offers what fits`() throws {
        func offered(_ words: [String]) throws -> [Substring] {
            let script = """
                . '\(folder)/bash/backstitch'
                COMP_WORDS=(\(words.map { "'\($0)'" }.joined(separator: " ")))
                COMP_CWORD=\(words.count - 1)
                _backstitch
                printf '%s\\n' "${COMPREPLY[@]}"
                """
            let child = try ChildProcess(["/usr/bin/bash", "-c", script])
            let text = String(decoding: child.output.readDataToEndOfFile(), as: UTF8.self)
            #expect(try child.wait() == .exit(code: 0))
            return text.split(separator: "\n")
        }
        #expect(try offered(["backstitch", "ver"]) == ["verify"])
        #expect(try offered(["backstitch", "hub", "mi"]) == ["migrate"])
        #expect(try offered(["backstitch", "hub", "serve", "--metrics"]) == ["--metrics-listen"])
        #expect(try offered(["backstitch", "verify", folder + "/ba"]) == ["\(folder)/bash"])
    }
}
