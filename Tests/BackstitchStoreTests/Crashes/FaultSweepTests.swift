import Backstitch
import BackstitchRepair
import CrashStates
import Foundation
import Glibc
import LMDB
import TestBudget
import Testing

@testable import BackstitchStore

/// Failures of the device at each call that a store makes, one after the other. They share the
/// counter.
@Suite(.serialized, .exclusiveFaults, .budgeted) struct FaultSweepTests {
    enum Work: String, CaseIterable {
        case create, open, save, saves, batch, delete, acknowledge, compact, rebuild, migrate
        case backUp, repair
    }

    private static let before = Dictionary(uniqueKeysWithValues: (0..<60).map { ("r\($0)", $0) })

    private let folder: TemporaryFolder
    /// The folder of the store under test, and of all that is made beside it.
    private let place: String
    private var store: String { place + "/store" }

    init() throws {
        folder = try TemporaryFolder(inMemory: true)
        let root = URL(fileURLWithPath: folder.root).resolvingSymlinksInPath().path
        place = root + "/case"
    }

    @Test(arguments: Work.allCases)
    func `whichever call fails, all or nothing is done, and the store opens again`(
        work: Work
    ) async throws {
        let base = folder.root + "/base"
        try await makeBase(at: base, for: work)
        // Once, and from then on: a moment's trouble, and a device that is gone or full.
        for (times, reason) in [(1, EIO), (Int.max >> 32, ENOSPC)] {
            let steps = Load.steps(oneOf: 3)
            var (number, failed, tries) = (0, 1, 0)
            while failed > 0 {
                try begin(work, with: base)
                let story = "\(work), call \(number), \(times) fail with \(reason)"
                failed = try await sweep(work, number, times, reason, story)
                number += tries == 0 && steps.first > 0 ? steps.first : steps.stride
                tries += 1
            }
            // The last round met no failure, so that calls up to the last one had their turn.
            #expect(tries > 1)
            if ProcessInfo.processInfo.environment["FAULT_CALLS"] != nil {
                print("\(work): \(number - 1) calls")
            }
        }
    }

    @Test(arguments: Work.allCases, [false, true])
    func `whichever call is cut short, all or nothing is done, and the same store goes on`(
        work: Work, thenFull: Bool
    ) async throws {
        let base = folder.root + "/base"
        try await makeBase(at: base, for: work)
        let steps = Load.steps(oneOf: 3)
        var (number, cut) = (0, 0)
        var calls = ["write "]
        // The first call says what calls there are, and the first one that transfers bytes is tried in any case.
        var strides = [1, steps.first + 1][...]
        while number < calls.count {
            try begin(work, with: base)
            var opened = opensItself(work) ? nil : try Store(at: store, schema: FirstVersion.schema)
            let (outcome, failed, made) = await FaultedCalls.runShort(
                in: place, at: number, thenFull: thenFull
            ) {
                await attempt(work, &opened)
            }
            calls = made
            let call = made.first { $0.contains(" short of ") } ?? "no call is cut"
            let story = "\(work), call \(number), then full: \(thenFull): \(call)"
            cut += failed > 0 ? 1 : 0
            if case .failure(let error) = outcome {
                #expect(failed > 0, "\(story)")
                #expect(error is StoreError, "\(story): \(error)")
            }
            if let opened, try await goesOn(opened, work, outcome, call, story) {
                // What it could not do, it can now that there is space.
                try await opened.write { tx in
                    try CrashRecords.save("passing", 1, work == .migrate, tx)
                    try CrashRecords.delete("passing", work == .migrate, tx)
                }
            }
            opened?.close()
            try await check(work, outcome, story)
            for _ in 0..<(strides.popFirst() ?? steps.stride) {
                repeat { number += 1 } while number < calls.count && !Self.transfers(calls[number])
            }
        }
        #expect(cut > 0)
    }

    private static func transfers(_ call: String) -> Bool {
        ["write ", "read ", "pread "].contains { call.hasPrefix($0) }
    }

    /// Reads with a store that met a call that was cut short.
    ///
    /// - Returns: Whether it goes on. It need not where it was a meta page that was cut: then the
    ///   outcome of the commit is not known.
    private func goesOn(
        _ store: Store, _ work: Work, _ outcome: Result<Void, any Error>, _ call: String,
        _ story: String
    ) async throws -> Bool {
        let isMetaPage =
            call.contains("/data.mdb short of ")
            && call.split(separator: " ").last.flatMap { Int($0) } ?? .max < 512
        do {
            let values =
                work == .migrate
                ? try CrashRecords.values(of: store)
                : Dictionary(
                    uniqueKeysWithValues: try store.read { try $0.fetch(FirstVersion.Item.self) }
                        .map { ("\($0.id)", $0.value) })
            expect(values, after: work, outcome, story)
            return true
        } catch let error as StoreError where isMetaPage {
            #expect(error.code == .io, "\(story)")
            return false
        }
    }

    /// Makes the files that a round begins with.
    private func begin(_ work: Work, with base: String) throws {
        try? FileManager.default.removeItem(atPath: place)
        if work == .create {
            try FileManager.default.createDirectory(
                atPath: place, withIntermediateDirectories: false)
        } else {
            try FileManager.default.copyItem(atPath: base, toPath: place)
        }
    }

    private func opensItself(_ work: Work) -> Bool {
        [.create, .open, .migrate, .repair].contains(work)
    }

    @Test func `a store gets its name when everything in it is on disk`() async throws {
        try FileManager.default.createDirectory(
            atPath: place, withIntermediateDirectories: false)
        var made: Store?
        let (_, _, calls) = await FaultedCalls.run(in: place, from: .max >> 33, times: 0, EIO) {
            await attempt(.create, &made)
        }
        made?.close()
        let draft = "/.store.draft-"
        let named = try #require(calls.firstIndex(of: "rename /store"))
        let written = try #require(
            calls.lastIndex { $0.hasPrefix("write \(draft)") && $0.hasSuffix("/data.mdb") })
        let synced = calls[written..<named].filter { $0.hasPrefix("sync \(draft)") }
        #expect(synced.contains { $0.hasSuffix("/data.mdb") }, "\(calls)")
        #expect(synced.contains { !$0.dropFirst("sync /".count).contains("/") }, "\(calls)")
        // The name itself is on disk before anything is done with the store.
        #expect(calls[(named + 1)...].first { !$0.hasPrefix("open ") } == "sync ", "\(calls)")
    }

    private func sweep(
        _ work: Work, _ number: Int, _ times: Int, _ reason: Int32, _ story: String
    ) async throws -> Int {
        var opened = opensItself(work) ? nil : try Store(at: store, schema: FirstVersion.schema)
        let (outcome, failed, calls) = await FaultedCalls.run(
            in: place, from: number, times: times, reason
        ) {
            await attempt(work, &opened)
        }
        let story = story + (calls.first { $0.hasSuffix(" failed") }.map { ": \($0)" } ?? "")
        if case .failure(let error) = outcome {
            #expect(failed > 0, "\(story)")
            #expect(error is StoreError, "\(story): \(error)")
        }
        // What goes on with the same store reads the one or the other, or says that it can't.
        if work != .migrate, let opened,
            let items = try? opened.read({ try $0.fetch(FirstVersion.Item.self) })
        {
            let values = Dictionary(uniqueKeysWithValues: items.map { ("\($0.id)", $0.value) })
            expect(values, after: work, outcome, story)
        }
        opened?.close()
        try await check(work, outcome, story)
        return failed
    }

    private func attempt(_ work: Work, _ store: inout Store?) async -> Result<Void, any Error> {
        do {
            switch work {
            case .create, .open:
                store = try Store(at: self.store, schema: FirstVersion.schema)
            case .migrate:
                store = try Store(at: self.store, schema: SecondVersion.schema)
                try await store?.prepareIndexes()
            case .repair:
                _ = try StoreRepair(self.store).repair(milliseconds: 1)
            default:
                if let store { try await perform(work, on: store) }
            }
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    private func perform(_ work: Work, on store: Store) async throws {
        switch work {
        case .save: try await store.write { try CrashRecords.save("new", 1, false, $0) }
        case .saves:
            // The first ones begin a run, in which the others are records of the journal.
            for number in 0..<6 {
                try await store.write { try CrashRecords.save("new", number, false, $0) }
            }
        case .batch:
            try await store.write { tx in
                for number in 0..<300 { try CrashRecords.save("n\(number)", number, false, tx) }
            }
        case .delete:
            try await store.write { tx in
                for number in 0..<60 { try CrashRecords.delete("r\(number)", false, tx) }
            }
        case .acknowledge: try await CrashRecords.acknowledge(in: store, tag: 1)
        case .compact: try await store.compact(.keepUnsyncedOnly)
        case .rebuild: try await store.rebuild()
        case .backUp: try StoreBackup(of: store, to: place + "/copy").make()
        case .create, .open, .migrate, .repair:
            Issue.record("\(work) is not done on an open store")
        }
    }

    private static func after(_ work: Work) -> [String: Int] {
        switch work {
        case .create, .delete: [:]
        case .save: before.merging(["new": 1]) { $1 }
        case .saves: before.merging(["new": 5]) { $1 }
        case .batch:
            before.merging((0..<300).map { ("n\($0)", $0) }) { $1 }
        default: before
        }
    }

    private func expect(
        _ values: [String: Int], after work: Work, _ outcome: Result<Void, any Error>,
        _ story: String
    ) {
        let (before, after) = (work == .create ? [:] : Self.before, Self.after(work))
        if case .success = outcome {
            #expect(values == after, "\(story)")
        } else if work == .saves {
            let saved = values["new"].map { ["new": $0] } ?? [:]
            #expect(
                values == before.merging(saved) { $1 } && (saved["new"] ?? 0) < 6,
                "\(story): \(values)")
        } else {
            #expect(values == before || values == after, "\(story): \(values.count)")
        }
    }

    /// Opens the store again, without failures.
    private func check(
        _ work: Work, _ outcome: Result<Void, any Error>, _ story: String
    ) async throws {
        if work == .repair, case .failure = outcome {
            _ = try StoreRepair(store).repair(milliseconds: 2)
        }
        try await checkStore(at: store, story) { values in
            expect(values, after: work, outcome, story)
        }
        if work == .backUp, FileManager.default.fileExists(atPath: place + "/copy") {
            try await checkStore(at: place + "/copy", story) {
                #expect($0 == Self.before, "\(story)")
            }
        } else if work == .backUp, case .success = outcome {
            Issue.record("\(story): there is no copy")
        }
    }

    private func checkStore(
        at path: String, _ story: String, _ expect: ([String: Int]) -> Void
    ) async throws {
        let store = try Store(at: path, schema: SecondVersion.schema)
        defer { store.close() }
        try await store.prepareIndexes()
        expect(try CrashRecords.values(of: store))
        let report = try store.verify()
        #expect(report.isConsistent, "\(story): \(report.problems)")
        try await store.write { try CrashRecords.save("after", 1, true, $0) }
    }

    /// Makes the files that a work begins with.
    private func makeBase(at base: String, for work: Work) async throws {
        try FileManager.default.createDirectory(atPath: base, withIntermediateDirectories: false)
        let path = base + "/store"
        let store = try Store(at: path, schema: FirstVersion.schema)
        for _ in 0..<3 {
            try await store.write { tx in
                for (name, value) in Self.before { try CrashRecords.save(name, value, false, tx) }
            }
        }
        if work == .compact { try await CrashRecords.acknowledge(in: store, tag: 1) }
        store.close()
        if work == .repair {
            let options = EnvironmentOptions.store
            let environment = try Environment.open(at: path, options: options)
            defer { environment.close() }
            try environment.tamper { try $0.clearTables($1) }
        }
    }
}
