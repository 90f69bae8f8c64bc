import ChildProcess
import Foundation
import TestBudget
import Testing

/// `backstitch backup` beside a process that writes. `BACKUP_ROUNDS` says how often; 3 unless given.
@Suite(.budgeted(places: 2)) struct BackupCommandTests {
    private struct Row: Decodable {
        let record: String
    }

    @Test func `a backup beside a process that writes has what was acknowledged before`() throws {
        let fixture = try StoreFixture()
        for round in 0..<Load.count("BACKUP_ROUNDS", else: 3) {
            // Many more transactions than are waited for, so that it writes during the backup.
            let writer = try ChildProcess([
                ChildProcess.path(ofBuilt: "BackstitchKillHelper"), fixture.path, "0", "plain",
                "60",
            ])
            defer { _ = try? writer.kill() }
            let acknowledged = try Self.read(1 + 17 * round % 60, from: writer)
            let copy = fixture.root + "/copy-\(round)"
            let made = try Runner.run("backup", fixture.path, copy)
            #expect(made.code == 0, "round \(round): \(made.complaint)")
            #expect(try writer.kill() == .signal(SIGKILL))
            let verified = try Runner.run("verify", copy)
            #expect(verified.code == 0, "round \(round): \(verified.output)\(verified.complaint)")
            let names = try Self.names(in: copy)
            for (writer, transaction) in acknowledged {
                let isThere = names.contains("\(writer)-\(transaction)-c")
                #expect(isThere, "round \(round), writer \(writer), transaction \(transaction)")
            }
            for (writer, names) in Dictionary(grouping: names, by: { $0.prefix { $0 != "-" } }) {
                // Each transaction inserts three records, and deletes one of those before.
                let transactions = names.count { $0.hasSuffix("-c") }
                #expect(names.count == 2 * transactions + 1, "round \(round), writer \(writer)")
            }
            try FileManager.default.removeItem(atPath: copy)
        }
    }

    /// Reads the writers and transactions that a process acknowledges, until there are so many.
    private static func read(
        _ count: Int, from process: ChildProcess
    ) throws -> [(writer: Int, transaction: Int)] {
        var printed = Data()
        while printed.count(where: { $0 == 10 }) < count {
            let more = process.output.availableData
            try #require(!more.isEmpty, "\(process.state)")
            printed += more
        }
        let lines = String(decoding: printed, as: UTF8.self).split(separator: "\n").prefix(count)
        return try lines.map { line in
            let numbers = line.split(separator: " ").compactMap { Int($0) }
            try #require(numbers.count == 2, "\(line)")
            return (writer: numbers[0], transaction: numbers[1])
        }
    }

    private static func names(in store: String) throws -> [String] {
        let found = try Runner.run("query", store, "Item", "--select", "writer", "--json")
        #expect(found.code == 0, "\(found.complaint)")
        return try found.output.split(separator: "\n").map {
            try JSONDecoder().decode(Row.self, from: Data($0.utf8)).record
        }
    }
}
