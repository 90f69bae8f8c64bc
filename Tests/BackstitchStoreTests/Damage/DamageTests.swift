import Backstitch
import BackstitchRepair
import BackstitchCore
import Foundation
import LMDB
import TestBudget
import Testing

@testable import BackstitchStore

/// Damages files at random, and lets them be diagnosed and repaired.
@Suite(.budgeted) struct DamageTests {
    /// How many files are damaged; `DAMAGE_FILES` in the environment changes it.
    static let filesMax = Load.count("DAMAGE_FILES", else: 24)
    private static let firstSeed =
        ProcessInfo.processInfo.environment["DAMAGE_SEED"].flatMap { UInt64($0) } ?? 1

    @Test func `damage is found or changes nothing, and a repair keeps what is intact`()
        async throws
    {
        let sample = try await DamageSample(seed: 7)
        var tally = Tally()
        for number in 0..<Self.filesMax {
            let kind = DamageKind.allCases[number % DamageKind.allCases.count]
            let seed = Self.firstSeed + UInt64(number)
            var random = SeededGenerator(seed: seed)
            let isRestarted = Bool.random(using: &random)
            var files = isRestarted ? sample.files.restarted : sample.files
            kind.apply(to: &files, older: sample.older, &random)
            let found = tally.found
            try check(files, sample, "\(kind), seed \(seed)", &tally)
            if tally.found > found { tally.kinds["\(kind)", default: 0] += 1 }
        }
        if Self.filesMax > 100 { print("damage: \(tally)") }
        #expect(tally.found > 0 && tally.equal > 0 && tally.complete > 0)
    }

    struct Tally {
        var found = 0, equal = 0, rebuilt = 0, salvaged = 0, unrepairable = 0
        /// Repairs that lost nothing.
        var complete = 0
        /// How many files of each kind were found to be damaged.
        var kinds: [String: Int] = [:]
        /// Why files could not be repaired.
        var reasons: [String: Int] = [:]
    }

    private func check(
        _ files: StoreFiles, _ sample: DamageSample, _ place: String, _ tally: inout Tally
    ) throws {
        let comment = Comment(rawValue: place)
        let folder = try TemporaryFolder()
        try files.write(to: folder.store)
        let diagnosis: StoreDiagnosis
        do {
            diagnosis = try StoreRepair(folder.store).diagnosis()
        } catch {
            Issue.record("\(place): \(error)")
            return
        }
        #expect(try StoreFiles(at: folder.store).data == files.data, comment)
        guard !diagnosis.isHealthy else {
            tally.equal += 1
            let store = try Store.open(existing: folder.store, access: .readWrite)
            defer { store.close() }
            let content = try store.content()
            for (name, entries) in sample.content {
                #expect(
                    content[name]?.elementsEqual(entries, by: ==) == true, "\(place): \(name)")
            }
            return
        }
        tally.found += 1
        #expect(diagnosis.remedy != .none, comment)
        if diagnosis.remedy == .backup {
            tally.unrepairable += 1
            let error = failure { _ = try StoreRepair(folder.store).repair(milliseconds: 1) }
            #expect(error?.code == .damaged, comment)
            tally.reasons[error?.message ?? "", default: 0] += 1
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.root) == ["store"])
            return
        }
        if diagnosis.remedy == .rebuild { tally.rebuilt += 1 } else { tally.salvaged += 1 }
        do {
            try checkRepair(of: folder, files, sample, diagnosis, place, &tally)
        } catch {
            Issue.record("\(place): \(error); \(diagnosis.findings.map(\.message))")
        }
    }

    private func checkRepair(
        of folder: TemporaryFolder, _ files: StoreFiles, _ sample: DamageSample,
        _ diagnosis: StoreDiagnosis, _ place: String, _ tally: inout Tally
    ) throws {
        let comment = Comment(rawValue: place)
        let report = try StoreRepair(folder.store).repair(milliseconds: 1)
        #expect(report.salvage == diagnosis.salvage, comment)
        let kept = try #require(report.keptAt).path
        let old = try StoreFiles(at: kept)
        #expect(old.data == files.data && old.journal == files.journal, comment)
        let after = try StoreRepair(folder.store).diagnosis()
        #expect(after.isHealthy, "\(place): \(after.findings)")
        let store = try Store(at: folder.store, schema: .all, configuration: .quick)
        defer { store.close() }
        #expect(try store.verify().problems == [], comment)
        // What is intact is in the log, or beside it.
        var log: [UInt64: [UInt8]] = [:]
        for (key, value) in try store.content()["log"] ?? [] {
            log[key.withUnsafeBytes { $0.sequence }] = value
        }
        let aside = try String(contentsOfFile: kept + "/set-aside.jsonl", encoding: .utf8)
        let intact = sample.intact(in: files.data)
        for (key, value) in sample.content["log"] ?? [] {
            let sequence = key.withUnsafeBytes { $0.sequence }
            guard intact.contains(sequence), log[sequence] != value else {
                continue
            }
            #expect(
                aside.contains("\"sequence\":\(sequence)}"),
                """
                \(place): operation \(sequence), \(value.prefix(4)), is lost; there is \
                \(log[sequence].map { "\($0.prefix(4))" } ?? "none")
                """)
        }
        if report.salvage?.losesNothing == true {
            tally.complete += 1
            for (key, value) in sample.content["log"] ?? [] {
                let sequence = key.withUnsafeBytes { $0.sequence }
                #expect(log[sequence] == value, "\(place): operation \(sequence) is lost")
            }
        }
        if diagnosis.remedy == .rebuild {
            #expect(
                try store.content()["tables"]?.elementsEqual(sample.content["tables"] ?? [], by: ==)
                    == true, comment)
        }
        try store.write { _ = try $0.save(Node(id: "after")) }
    }
}
