import Backstitch
import BackstitchCore
import BackstitchStore
import ChildProcess
import Foundation
import Glibc
import TestBudget
import Testing

/// Three versions of a program use one store at once: they open and close it, are killed, and save, in any order.
///
/// `VERSION_SEEDS` says how many orders are tried of each kind; 4 unless given.
@Suite(.budgeted, .serialized) struct VersionTests {
    private static let steps = 120

    /// The records as they must be, and what the store has promised about them.
    private struct Model {
        var entries: [String: (title: String, rank: Int)] = [:]
        /// Whether a version whose titles are unique has opened the store.
        var isUnique = false

        func mayHave(_ title: String, _ name: String) -> Bool {
            guard isUnique, entries[name]?.title != title else { return true }
            return !entries.contains { $0.key != name && $0.value.title == title }
        }

        func names(_ isWanted: ((title: String, rank: Int)) -> Bool) -> String {
            entries.filter { isWanted($0.value) }.keys.sorted().joined(separator: " ")
        }

        /// The records that share a title, in groups.
        var violations: [[String]] {
            Dictionary(grouping: entries.keys) { entries[$0]?.title ?? "" }.values
                .filter { $0.count > 1 }.map { $0.sorted() }.sorted { $0[0] < $1[0] }
        }
    }

    @Test(arguments: ["versions", "unnumbered"])
    func `versions of a program keep values unique, can query, and lose nothing`(
        mode: String
    ) throws {
        for seed in 0..<Load.count("VERSION_SEEDS", else: 2) {
            let files = FileManager.default
            let root = files.temporaryDirectory.path + "/versions-" + UUID().uuidString
            try files.createDirectory(atPath: root, withIntermediateDirectories: true)
            defer { try? files.removeItem(atPath: root) }
            try run(root + "/store", mode, seed)
        }
    }

    private func run(_ path: String, _ mode: String, _ seed: Int) throws {
        var state = UInt64(seed) &+ 21
        func random(below bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        var model = Model()
        var programs = try (1...3).map { try VersionedProgram(path, version: $0, mode: mode) }
        var isOpen = [false, false, false]
        for step in 0..<Self.steps {
            // The first version is alone at first, so that some titles are there twice.
            let at = step < 16 ? 0 : random(below: 3)
            let program = programs[at]
            let comment: Comment = "\(mode), seed \(seed), step \(step), version \(at + 1)"
            if !isOpen[at] {
                #expect(try program.tell("open") == "opened", comment)
                isOpen[at] = true
                if at > 0 { model.isUnique = true }
                try check(model, program, comment)
                continue
            }
            // Names of one length sort in a store as they do in Swift.
            let name = "e\(10 + random(below: 12))"
            switch random(below: 12) {
            case 0:
                #expect(try program.tell("close") == "closed", comment)
                isOpen[at] = false
            case 1 where step >= 16:
                try program.end()
                programs[at] = try VersionedProgram(path, version: at + 1, mode: mode)
                isOpen[at] = false
            case 2, 3:
                #expect(try program.tell("delete \(name)") == "deleted", comment)
                model.entries[name] = nil
            default:
                let (title, rank) = ("t\(random(below: 14))", random(below: 3))
                let mayHave = model.mayHave(title, name)
                let answer = try program.tell("save \(name) \(title) \(rank)")
                #expect(answer == (mayHave ? "saved" : "error notUnique"), comment)
                guard mayHave else { break }
                // The first version leaves ranks as they are.
                let kept = model.entries[name]?.rank ?? 0
                model.entries[name] = (title, at == 0 ? kept : rank)
            }
            for (number, other) in programs.enumerated() where isOpen[number] {
                try check(model, other, comment)
            }
        }
        for (number, program) in programs.enumerated() {
            if isOpen[number] { #expect(try program.tell("close") == "closed") }
            try program.end()
        }
        try checkEnd(of: path, model)
    }

    private func check(
        _ model: Model, _ program: VersionedProgram, _ comment: Comment
    ) throws {
        let ordered = model.entries.sorted { ($0.value.title, $0.key) < ($1.value.title, $1.key) }
        let all = ordered.map { "\($0.key)=\($0.value.title)" }.joined(separator: " ")
        #expect(try program.tell("all") == all, comment)
        #expect(try program.tell("titled t3") == model.names { $0.title == "t3" }, comment)
        let ranked = program.version == 1 ? "none" : model.names { $0.rank == 1 }
        #expect(try program.tell("ranked 1") == ranked, comment)
    }

    private func checkEnd(of path: String, _ model: Model) throws {
        let store = try Store.open(existing: URL(filePath: path))
        defer { store.close() }
        let report = try store.verify()
        #expect(report.problems == [])
        guard model.isUnique else { return }
        let found = try store.read { try $0.uniqueViolations() }.values.flatMap { $0 }
            .map { $0.map(\.key.description) }.sorted { $0[0] < $1[0] }
        #expect(found == model.violations)
    }
}

/// A process of a version of the program, which is told what to do and answers.
private final class VersionedProgram {
    /// It said nothing any more.
    struct Ended: Error {
        let state: String
    }

    let version: Int
    private let process: ChildProcess
    private let commands: FileHandle
    private var answers = Data()

    init(_ path: String, version: Int, mode: String) throws {
        self.version = version
        let pipe = "\(path)-tell-\(version)"
        try? FileManager.default.removeItem(atPath: pipe)
        // For reading too, so that opening it does not wait for the other side.
        guard mkfifo(pipe, 0o600) == 0, case let end = open(pipe, O_RDWR | O_CLOEXEC), end >= 0
        else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        commands = FileHandle(fileDescriptor: end, closeOnDealloc: true)
        process = try ChildProcess([
            ChildProcess.path(ofBuilt: "BackstitchKillHelper"), path, "\(version)", mode, "0",
        ])
    }

    /// Gives a command and waits for the answer.
    func tell(_ command: String) throws -> String {
        try commands.write(contentsOf: Data((command + "\n").utf8))
        while true {
            if let end = answers.firstIndex(of: 10) {
                let answer = String(decoding: answers[..<end], as: UTF8.self)
                answers = Data(answers[(end + 1)...])
                return answer
            }
            let more = process.output.availableData
            guard !more.isEmpty else { throw Ended(state: process.state) }
            answers.append(more)
        }
    }

    func end() throws { try process.kill() }
}
