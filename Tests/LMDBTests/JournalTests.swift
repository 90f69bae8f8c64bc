import CFaults
import CrashStates
import Foundation
import TestBudget
import Testing
import Threading
import Waiting
import XXHash

@testable import LMDB

/// Commits through the journal. One after the other, because they share the injector of faults.
@Suite(.serialized, .exclusiveFaults, .budgeted) struct JournalTests {
    let fixture: Fixture

    init() throws { fixture = try Fixture(inMemory: true) }

    /// Limits with which nothing is applied by itself.
    private var patient: JournalLimits { .eager(apply: 1_000_000, halfBytes: 2 << 20) }

    @Test func `small commits wait in the journal, and the data file stays as it was`() throws {
        let environment = try fixture.openJournaled(patient)
        try environment.save(["a": "0"])
        let before = try environment.lastTransaction
        for number in 1...50 { try environment.save(["a": "\(number)", "\(number)": "b"]) }
        #expect(try environment.lastTransaction == before)
        #expect(environment.waitingRecords == 50)
        #expect(try environment.entries().count == 51)
        #expect(try environment.entries()["a"] == "50")
        try environment.applyJournal()
        #expect(environment.waitingRecords == 0)
        #expect(try environment.lastTransaction == before + 1)
        #expect(try environment.entries()["a"] == "50")
    }

    @Test func `each commit has a greater number, with a record or without`() throws {
        let environment = try fixture.openJournaled(.eager(apply: 5))
        var last: UInt64 = 0
        for number in 0..<40 {
            let size = number % 7 == 3 ? 70_000 : 10
            try environment.save(["a": String(repeating: "x", count: size)])
            let commit = try environment.read { $0.access.commit }
            #expect(commit > last)
            last = commit
            let begun = try environment.save { access in
                try access.put("b", "\(number)", in: Database(index: 0))
                return access.commit
            }
            #expect(begun == last)
            last += 1
            #expect(try environment.read { $0.access.commit } == last)
        }
    }

    @Test func `after closing the data file is complete without the journal`() throws {
        var environment = try fixture.openJournaled(patient)
        for number in 0..<20 { try environment.save(["\(number)": "a"]) }
        #expect(environment.waitingRecords > 0)
        environment.close()
        try FileManager.default.removeItem(atPath: fixture.journalPath)
        environment = try fixture.openJournaled(patient)
        #expect(try environment.entries().count == 20)
        for number in 0..<20 { try environment.save(["again \(number)": "a"]) }
        #expect(try environment.entries().count == 40)
    }

    @Test func `a journal that is missing with its records is noticed`() throws {
        let environment = try fixture.openJournaled(patient)
        for number in 0..<20 { try environment.save(["\(number)": "a"]) }
        let path = try fixture.copyAsKilled()
        try FileManager.default.removeItem(atPath: path + "/journal")
        #expect(code { _ = try fixture.openJournaled(patient, at: path) } == .damaged)
        #expect(code { _ = try fixture.openJournaled(nil, at: path) } == .damaged)
    }

    @Test(arguments: [false, true])
    func `a journal that is deleted or replaced while it is open takes no commit`(
        isReplaced: Bool
    ) throws {
        let environment = try fixture.openJournaled(patient)
        for number in 0..<10 { try environment.save(["a": "\(number)"]) }
        let files = FileManager.default
        let aside = fixture.root + "/aside"
        if isReplaced {
            try files.copyItem(atPath: fixture.journalPath, toPath: fixture.root + "/copy")
        }
        try files.moveItem(atPath: fixture.journalPath, toPath: aside)
        if isReplaced {
            try files.moveItem(atPath: fixture.root + "/copy", toPath: fixture.journalPath)
        }
        #expect(code { try environment.save(["b": "1"]) } == .notFoundPath)
        // Nothing is lost if the file comes back.
        try? files.removeItem(atPath: fixture.journalPath)
        try files.moveItem(atPath: aside, toPath: fixture.journalPath)
        try environment.save(["b": "2"])
        environment.close()
        #expect(try fixture.openJournaled(patient).entries() == ["a": "9", "b": "2"])
    }

    @Test func `the journal of another data file is refused`() throws {
        let environment = try fixture.openJournaled(patient)
        for number in 0..<5 { try environment.save(["\(number)": "a"]) }
        let path = try fixture.copyAsKilled()
        let other = fixture.root + "/other"
        let foreign = try fixture.openJournaled(patient, at: other)
        try foreign.save(["a": "b"])
        foreign.close()
        let files = FileManager.default
        try files.removeItem(atPath: path + "/journal")
        try files.copyItem(atPath: other + "/journal", toPath: path + "/journal")
        #expect(code { _ = try fixture.openJournaled(patient, at: path) } == .damaged)
    }

    @Test(arguments: [false, true])
    func `a journal from before the last commits of the data file is refused`(
        isReadOnly: Bool
    ) throws {
        let environment = try fixture.openJournaled(patient)
        for number in 0..<9 { try environment.save(["\(number)": "a"]) }
        let older = try fixture.copyAsKilled(to: "older")
        for number in 0..<9 { try environment.save(["\(number)": "b"]) }
        try environment.applyJournal()
        try environment.save(["0": "c"])
        let path = try fixture.copyAsKilled()
        let files = FileManager.default
        try files.removeItem(atPath: path + "/journal")
        try files.copyItem(atPath: older + "/journal", toPath: path + "/journal")
        let found = try EnvironmentFiles(at: path).inspect(names: ["one", "two"]) { _ in }
        #expect(!found.isSound)
        let opened = code {
            let next = try fixture.openJournaled(patient, at: path) { $0.isReadOnly = isReadOnly }
            _ = try next.entries()
        }
        #expect(opened == .damaged)
    }

    @Test func `where a program committed around the records, both files are to be kept`() throws {
        let environment = try fixture.openJournaled(patient)
        for number in 0..<9 { try environment.save(["\(number)": "a"]) }
        let path = try fixture.copyAsKilled()
        #expect(CFaultsWriteInChild(path, 1 << 30, 1, 3) == 0)
        let error = #expect(throws: LMDBError.self) {
            _ = try fixture.openJournaled(patient, at: path)
        }
        let message = try #require(error?.message)
        #expect(
            message.contains("Keep both: the journal may have commits that nothing else has."),
            "\(message)")
        #expect(!message.contains("delete") && !message.contains("remove"))
    }

    @Test(arguments: [false, true])
    func `records that wait are there for the next who opens`(isReadOnly: Bool) throws {
        let environment = try fixture.openJournaled(patient)
        for number in 0..<30 { try environment.save(["\(number % 9)": "\(number)"]) }
        let entries = try environment.entries()
        let path = try fixture.copyAsKilled()
        // Whether the options ask for a journal or not.
        for limits in [patient, nil] {
            let next = try fixture.openJournaled(limits, at: path) { $0.isReadOnly = isReadOnly }
            #expect(try next.entries() == entries)
            #expect(next.waitingRecords > 0)
            next.close()
            if !isReadOnly { break }
        }
    }

    @Test func `after a restart of the system readers look at the records alone`() throws {
        let environment = try fixture.openJournaled(patient) { $0.boot = BootID(testing: 1) }
        for number in 0..<30 { try environment.save(["\(number % 9)": "\(number)"]) }
        let entries = try environment.entries()
        let path = try fixture.copyAsKilled()
        let reader = try fixture.openJournaled(nil, at: path) {
            $0.isReadOnly = true
            $0.boot = BootID(testing: 2)
        }
        #expect(try reader.entries() == entries)
    }

    @Test func `an environment without a journal goes on with one that it finds`() throws {
        let environment = try fixture.openJournaled(patient)
        for number in 0..<30 { try environment.save(["\(number % 9)": "\(number)"]) }
        let path = try fixture.copyAsKilled()
        let plain = try fixture.openJournaled(nil, at: path)
        try plain.save(["x": "y"])
        #expect(plain.waitingRecords == 0)
        #expect(try plain.entries().count == 10)
        try plain.save(["x": "z"])
        #expect(plain.waitingRecords == 0)
        #expect(try plain.entries()["x"] == "z")
    }

    @Test func `a journal that another process began is joined by reads and writes`() async throws {
        for isReading in [true, false] {
            let fixture = try Fixture(inMemory: true)
            let plain = try fixture.open()
            try plain.save(["a": "1"])
            #expect(try plain.entries() == ["a": "1"])
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = fixture.store as String] in
                let other = try Environment.open(
                    at: path,
                    options: Fixture.options { $0.journal = .eager(apply: 1_000) })
                for number in 0..<10 { try other.save(["b": "\(number)"]) }
                #expect(other.waitingRecords > 5)
                kill(getpid(), SIGKILL)
            }
            #expect(plain.core.journal == nil)
            if isReading { #expect(try plain.entries() == ["a": "1", "b": "9"]) }
            try plain.save(["c": "3"])
            #expect(plain.core.journal != nil)
            #expect(try plain.entries() == ["a": "1", "b": "9", "c": "3"])
        }
    }

    @Test func `who only reads sees a journal that comes later`() async throws {
        try fixture.open().close()
        let reader = try fixture.open { $0.isReadOnly = true }
        #expect(try reader.entries() == [:])
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = fixture.store as String] in
            let other = try Environment.open(
                at: path, options: Fixture.options { $0.journal = .eager(apply: 1_000) })
            for number in 0..<10 { try other.save(["b": "\(number)"]) }
            kill(getpid(), SIGKILL)
        }
        #expect(try reader.entries() == ["b": "9"])
        #expect(reader.waitingRecords > 5)
    }

    /// It knows older records than the data file has.
    @Test(arguments: [false, true])
    func `a process closes after another one committed and applied more than it knows`(
        appliesFirst: Bool
    ) async throws {
        let environment = try fixture.openJournaled(patient)
        for number in 0..<10 { try environment.save(["a": "\(number)"]) }
        #expect(environment.waitingRecords > 5)
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = fixture.store as String] in
            let other = try Environment.open(
                at: path, options: Fixture.options { $0.journal = .eager(apply: 1_000) })
            for number in 0..<10 { try other.save(["b": "\(number)"]) }
            try other.applyJournal()
            kill(getpid(), SIGKILL)
        }
        if appliesFirst {
            // Its applier has nothing left to do.
            #expect(try environment.core.journal?.applyInGate() == false)
            #expect(environment.waitingRecords == 0)
        }
        environment.close()
        let next = try fixture.openJournaled(patient)
        #expect(try next.entries() == ["a": "9", "b": "9"])
    }

    @Test
    func `who opens and closes doesn't wait for a process that is about to commit`() throws {
        let environment = try fixture.openJournaled(patient)
        for number in 0..<10 { try environment.save(["a": "\(number)"]) }
        let path = try fixture.copyAsKilled()
        let file = try #require(try JournalFile.open(in: Folder(path: path), isReadOnly: false))
        try file.lock()
        let other = try fixture.openJournaled(patient, at: path)
        #expect(try other.entries() == ["a": "9"])
        other.close()
        file.unlock()
        let next = try fixture.openJournaled(patient, at: path)
        #expect(try next.entries() == ["a": "9"])
        #expect(next.waitingRecords > 0)
        next.close()
        try FileManager.default.removeItem(atPath: path + "/journal")
        #expect(try fixture.openJournaled(patient, at: path).entries() == ["a": "9"])
    }

    @Test func `relaxed commits are no records, and go behind those that wait`() throws {
        let environment = try fixture.openJournaled(patient)
        for number in 0..<10 { try environment.save(["a": "\(number)"]) }
        let path = try fixture.copyAsKilled()
        let relaxed = try fixture.openJournaled(patient, at: path) { $0.durability = .relaxed }
        #expect(try relaxed.entries() == ["a": "9"])
        for number in 0..<10 { try relaxed.save(["b": "\(number)"]) }
        #expect(relaxed.waitingRecords == 0)
        relaxed.close()
        #expect(try fixture.openJournaled(patient, at: path).entries() == ["a": "9", "b": "9"])
        let alone = fixture.root + "/alone"
        let plain = try fixture.openJournaled(patient, at: alone) { $0.durability = .relaxed }
        for number in 0..<10 { try plain.save(["a": "\(number)"]) }
        #expect(!FileManager.default.fileExists(atPath: alone + "/journal"))
    }

    @Test func `where the running system can't be told, the records alone count`() throws {
        let environment = try fixture.openJournaled(patient)
        try environment.save(["a": "0"])
        let before = try Data(contentsOf: URL(fileURLWithPath: fixture.journalPath))
        for number in 1..<10 { try environment.save(["a": "\(number)"]) }
        let path = try fixture.copyAsKilled()
        // What processes told each other is as it was long before, and of no system.
        let file = try #require(FileHandle(forUpdatingAtPath: path + "/journal"))
        try file.seek(toOffset: 4_096)
        try file.write(contentsOf: Data(count: 16) + before[4_112..<8_192])
        try file.close()
        let next = try fixture.openJournaled(patient, at: path) { $0.boot = nil }
        #expect(try next.entries() == ["a": "9"])
        try next.save(["b": "1"])
        #expect(next.waitingRecords == 0)
        next.close()
        #expect(try fixture.openJournaled(patient, at: path).entries() == ["a": "9", "b": "1"])
    }

    @Test func `a change of a database that has no name is damage`() throws {
        let environment = try fixture.openJournaled(patient)
        for number in 0..<5 {
            try environment.save { access in
                try access.put("\(number)", "a", in: Database(index: number % 2))
            }
        }
        let path = try fixture.copyAsKilled()
        let options = Fixture.options { $0.databases = ["one"] }
        #expect(
            code {
                let fewer = try Environment.open(at: path, options: options)
                _ = try fewer.read { $0.id }
            } == .damaged)
        #expect(options.name(ofDatabase: 1) == nil)
        #expect(Fixture.options().name(ofDatabase: 1) == "two")
        #expect(Fixture.options().name(ofDatabase: 2) == nil)
    }

    @Test func `a read keeps its state while records come and are applied`() throws {
        let environment = try fixture.openJournaled(patient)
        for number in 0..<20 { try environment.save(["\(number)": "old"]) }
        let entries = try environment.entries()
        let database = Database(index: 0)
        try environment.read { transaction in
            let commit = transaction.access.commit
            for number in 0..<20 { try environment.saveElsewhere(["\(number)": "new"]) }
            #expect(try transaction.access.entries(in: database) == entries)
            try environment.applyElsewhere()
            for number in 20..<40 { try environment.saveElsewhere(["\(number)": "new"]) }
            #expect(try transaction.access.entries(in: database) == entries)
            #expect(transaction.access.commit == commit)
        }
        #expect(try environment.entries().count == 40)
    }

    @Test func `a change that a record can't hold goes into the data file at once`() throws {
        let environment = try fixture.openJournaled(patient)
        for number in 0..<5 { try environment.save(["\(number)": "a"]) }
        let waiting = environment.waitingRecords
        try environment.save(["large": String(repeating: "x", count: 1_048_560)])
        #expect(environment.waitingRecords == waiting + 1)
        try environment.save(["large": String(repeating: "x", count: 1_048_570)])
        #expect(environment.waitingRecords == 0)
        #expect(try environment.entries().count == 6)
        try environment.save(["b": "c"])
        try environment.save { access in
            try access.put("d", "e", in: Database(index: 0))
            try access.clear(Database(index: 0))
            try access.put("f", "g", in: Database(index: 0))
        }
        #expect(try environment.entries() == ["f": "g"])
    }

    @Test func `records are as long as the limits say`() throws {
        var limits = patient
        limits.changeBytesMax = 1_000
        let environment = try fixture.openJournaled(limits)
        try environment.save(["a": "b"])
        // A change takes 10 bytes beside its key and value.
        try environment.save(["a": String(repeating: "x", count: 989)])
        #expect(environment.waitingRecords == 1)
        try environment.save(["a": String(repeating: "x", count: 990)])
        #expect(environment.waitingRecords == 0)
    }

    @Test func `a commit of too many changes goes into the data file`() throws {
        var limits = patient
        limits.changesMax = 10
        let environment = try fixture.openJournaled(limits)
        try environment.save(["a": "b"])
        func some(_ count: Int) -> [String: String] {
            Dictionary(uniqueKeysWithValues: (0..<count).map { ("\($0)", "c") })
        }
        try environment.save(some(10))
        #expect(environment.waitingRecords == 1)
        try environment.save(some(11))
        #expect(environment.waitingRecords == 0)
        #expect(try environment.entries().count == 12)
    }

    @Test func `a commit waits until not too many changed keys wait`() throws {
        var limits = patient
        limits.entriesMax = 20
        let environment = try fixture.openJournaled(limits)
        for number in 0..<200 {
            try environment.save(["\(number)": "a", "again": "\(number)"])
            #expect(environment.waitingRecords <= 20)
        }
        #expect(environment.waitingRecords > 0)
        #expect(try environment.entries().count == 201)
        // One key that changes again and again is one.
        try environment.applyJournal()
        for number in 0..<50 { try environment.save(["again": "\(number)"]) }
        #expect(environment.waitingRecords == 50)
    }

    @Test func `of a record of many pages a power cut leaves all or nothing`() throws {
        let environment = try fixture.openJournaled(patient) { $0.boot = BootID(testing: 1) }
        try environment.save(["a": "before", "b": "before"])
        let count = 300_000
        try environment.save(["a": String(repeating: "x", count: count), "b": "after"])
        #expect(environment.waitingRecords == 1)
        for page in stride(from: 0, through: count / 4_096, by: 7) {
            let path = try fixture.copyAsKilled(to: "cut at \(page)")
            let file = try FileHandle(forUpdating: URL(filePath: path + "/journal"))
            try file.seek(toOffset: UInt64(8_192 + 4_096 * page))
            try file.write(contentsOf: Data(count: 4_096))
            try file.close()
            let found = try fixture.openJournaled(patient, at: path) {
                $0.boot = BootID(testing: 2)
            }
            #expect(try found.entries() == ["a": "before", "b": "before"])
        }
        let whole = try fixture.openJournaled(patient, at: try fixture.copyAsKilled()) {
            $0.boot = BootID(testing: 2)
        }
        #expect(try whole.entries()["b"] == "after")
        #expect(try whole.entries()["a"]?.count == count)
    }

    @Test func `commits go on where the words say that more is applied than there is`() throws {
        let original = try fixture.openJournaled(patient)
        for number in 0..<9 { try original.save(["\(number)": "a"]) }
        let path = try fixture.copyAsKilled()
        let file = try FileHandle(forUpdating: URL(filePath: path + "/journal"))
        try file.seek(toOffset: 4_096 + 24)
        try file.write(contentsOf: Data(repeating: 255, count: 8))
        try file.close()
        let environment = try fixture.openJournaled(patient, at: path)
        for number in 0..<9 { try environment.save(["again \(number)": "a"]) }
        #expect(try environment.entries().count == 18)
    }

    // As on a disk that was away and came back.
    @Test func `words that are older than the records don't count for who opens alone`() throws {
        let original = try fixture.openJournaled(patient)
        for number in 0..<5 { try original.save(["\(number)": "a"]) }
        let older = try fixture.copyAsKilled(to: "older")
        for number in 5..<9 { try original.save(["\(number)": "a"]) }
        let path = try fixture.copyAsKilled()
        let words = try Data(contentsOf: URL(filePath: older + "/journal"))[4_096..<8_192]
        let file = try FileHandle(forUpdating: URL(filePath: path + "/journal"))
        try file.seek(toOffset: 4_096)
        try file.write(contentsOf: words)
        try file.close()
        #expect(try fixture.openJournaled(patient, at: path).entries().count == 9)
    }

    @Test func `lone commits don't begin a journal`() throws {
        var limits = patient
        limits.commitsBefore = 2
        let environment = try fixture.openJournaled(limits)
        try environment.save(["a": "0"])
        #expect(!FileManager.default.fileExists(atPath: fixture.journalPath))
        try environment.save(["a": "1"])
        #expect(environment.waitingRecords == 0)
        try environment.save(["a": "2"])
        #expect(environment.waitingRecords == 1)
        #expect(try fileBytes == 8_192 + limits.halfBytes + limits.firstBytes)
    }

    @Test func `a disk with little space gets no journal`() throws {
        var limits = patient
        limits.freeBytesMin = .max
        let environment = try fixture.openJournaled(limits)
        for number in 0..<10 { try environment.save(["\(number)": "a"]) }
        #expect(environment.waitingRecords == 0)
    }

    @Test
    func `a pause lets the records be applied`() async throws {
        var limits = JournalLimits.eager(apply: 1_000, inBackground: true)
        limits.idleMilliseconds = 5
        let environment = try fixture.openJournaled(limits)
        for number in 0..<10 { try environment.save(["\(number)": "a"]) }
        try await eventually { environment.waitingRecords == 0 }
        #expect(try environment.entries().count == 10)
    }

    @Test(arguments: [false, true])
    func `records are applied to a map that was too small for them`(
        atClosing: Bool
    ) async throws {
        let small = 256 << 10
        var limits = patient
        limits.appliesInBackground = !atClosing
        limits.idleMilliseconds = 5
        let environment = try fixture.openJournaled(limits) { $0.mapBytes = small }
        let value = String(repeating: "x", count: 9_000)
        for number in 0..<60 { try environment.save(["\(number)": value]) }
        if atClosing {
            // The first commit says that records may follow.
            #expect(environment.waitingRecords == 59)
            environment.close()
            try FileManager.default.removeItem(atPath: fixture.journalPath)
            #expect(try fixture.openJournaled(limits).entries().count == 60)
        } else {
            try await eventually { environment.waitingRecords == 0 }
            #expect(try environment.entries().count == 60)
            #expect(try environment.info.mapBytes > small)
        }
    }

    @Test(arguments: [false, true])
    func `both halves are used again and again`(inBackground: Bool) throws {
        let environment = try fixture.openJournaled(
            .eager(apply: 1_000_000, inBackground: inBackground))
        for number in 0..<300 {
            let value = String(repeating: "\(number % 10)", count: number % 11 * 3_000)
            try environment.save(["\(number % 40)": value])
            #expect(try environment.entries()["\(number % 40)"] == value)
        }
        #expect(try fileBytes == 8_192 + 2 * JournalLimits.halfBytesMin)
    }

    @Test func `saves and reads go on while records are applied all the time`() throws {
        let environment = try fixture.openJournaled(.eager(apply: 3, inBackground: true))
        let ended = Locked(Heard())
        let reader = SystemThread {
            var last = 0
            while ended.withLock({ $0.count }) == 0 {
                let number = try? environment.read { try Self.number(in: $0.access) }
                guard let number, number >= last else {
                    Issue.record("A read failed, or saw a state that never was, after \(last).")
                    return
                }
                last = number
            }
        }
        for number in 1...4_000 {
            try environment.save(["last": "\(number)", "\(number % 50)": "\(number)"])
            let found = try environment.read { try Self.number(in: $0.access) }
            #expect(found == number)
        }
        ended.withLock { $0.count = 1 }
        reader.join()
    }

    @Test func `a read whose snapshot is older than what was applied begins another one`() throws {
        let environment = try fixture.openJournaled(patient)
        for number in 0..<20 { try environment.save(["\(number)": "old"]) }
        let steps = Locked(Steps())
        let hook = TestPoint.hook { point in
            guard "\(point)" == "a snapshot has its position", steps.withLock({ $0.begin() }) else {
                return
            }
            blockUntil { steps.withLock(\.mayGoOn) }
        }
        defer { TestPoint.unhook(hook) }
        let reader = SystemThread {
            steps.withLock { $0.reader = pthread_self() }
            let found = Result { try environment.entries() }
            steps.withLock { $0.found = found }
        }
        blockUntil { steps.withLock(\.isWaiting) }
        for number in 0..<20 { try environment.save(["\(number)": "new"]) }
        try environment.applyJournal()
        try environment.save(["last": "new"])
        steps.withLock { $0.mayGoOn = true }
        reader.join()
        let found = try #require(steps.withLock { $0.found }).get()
        #expect(found.count == 21 && found.values.allSatisfy { $0 == "new" })
    }

    private struct Steps {
        var reader: pthread_t?
        var isWaiting = false
        var mayGoOn = false
        var found: Result<[String: String], any Error>?

        /// Whether this is the first read of the reader, which waits; other suites read too.
        mutating func begin() -> Bool {
            guard reader == pthread_self(), !isWaiting else { return false }
            isWaiting = true
            return true
        }
    }

    /// The number of the last of the saves, each of which has a key of the fifty; nil if the others
    /// aren't the ones before it.
    private static func number(in access: Access) throws -> Int? {
        let entries = try access.entries(in: Database(index: 0))
        guard let last = entries["last"] else { return 0 }
        guard let last = Int(last) else { return nil }
        for number in max(1, last - 49)...last where entries["\(number % 50)"] != "\(number)" {
            return nil
        }
        return last
    }

    @Test func `appended keys have to be the last, whether their neighbours wait or not`() throws {
        let environment = try fixture.openJournaled(patient)
        let database = Database(index: 0)
        func append(_ key: UInt8) -> LMDBError.Code? {
            code { try environment.save { try $0.append([key], [1], in: database) } }
        }
        #expect(append(10) == nil)
        #expect(append(20) == nil)
        #expect(append(20) == .appendOutOfOrder)
        try environment.applyJournal()
        #expect(append(15) == .appendOutOfOrder)
        #expect(append(30) == nil)
        #expect(append(25) == .appendOutOfOrder)
        #expect(try environment.save { try $0.delete([30], in: database) })
        #expect(append(25) == nil)
        try environment.applyJournal()
        #expect(try environment.read { try $0.access.count(of: database) } == 3)
    }

    @Test func `a copy has what waits, and no journal`() throws {
        let environment = try fixture.openJournaled(patient)
        for number in 0..<20 { try environment.save(["\(number)": "a"]) }
        let path = fixture.root + "/copy"
        try environment.copy(to: path)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["data.mdb"])
        let copy = try Environment.open(at: path, options: Fixture.options())
        #expect(try copy.entries().count == 20)
        try copy.save(["x": "y"])
    }

    @Test func `a look at a closed folder sees what waits`() throws {
        let environment = try fixture.openJournaled(patient)
        try environment.save(["a": "1"])
        try environment.save(["a": "2", "b": "3"])
        let path = try fixture.copyAsKilled()
        func peek(_ key: String) throws -> [UInt8]? {
            try EnvironmentFiles(at: path).peek(
                options: Fixture.options(), database: "one", key: key)
        }
        #expect(try peek("a") == Array("2".utf8))
        #expect(try peek("b") == Array("3".utf8))
        #expect(try peek("c") == nil)
    }

    @Test func `an inspection finds nothing wrong, and shows what waits`() throws {
        let environment = try fixture.openJournaled(patient)
        try environment.save(["a": "1"])
        for number in 0..<5 { try environment.save(["b": "\(number)"]) }
        let path = try fixture.copyAsKilled()
        var waiting: [String] = []
        let found = try EnvironmentFiles(at: path).inspect(names: ["one", "two"]) { entry in
            if entry.place == .journal {
                waiting.append(String(decoding: entry.value, as: UTF8.self))
            }
        }
        #expect(found.isSound)
        #expect(waiting == ["0", "1", "2", "3", "4"])
    }

    @Test
    func `commits that become records are told to those who watch`() async throws {
        let environment = try fixture.openJournaled(patient)
        try environment.save(["a": "1"])
        let watch = try environment.watchCommits { [heard] in heard.withLock { $0.count += 1 } }
        defer { withExtendedLifetime(watch) {} }
        // It tells once by itself, when it begins.
        try await eventually { heard.withLock { $0.count } > 0 }
        let before = heard.withLock { $0.count }
        try environment.save(["a": "2"])
        #expect(environment.waitingRecords == 1)
        try await eventually { heard.withLock { $0.count } > before }
    }

    /// The system tells of the write of a record, but that is before others can see the commit.
    @Test
    func `a commit is told to those who watch once they can see it`() async throws {
        let environment = try fixture.openJournaled(patient)
        try environment.save(["a": "1"])
        // A moment in which the system tells of the write, and others look. If they are late, a fault is missed.
        let hook = TestPoint.hook { if "\($0)" == "a record is on disk" { usleep(30_000) } }
        defer { TestPoint.unhook(hook) }
        let watch = try environment.watchCommits { [heard] in
            let value = try? environment.entries()["a"]
            if value == "2" { heard.withLock { $0.count += 1 } }
        }
        defer { withExtendedLifetime(watch) {} }
        try environment.save(["a": "2"])
        try await eventually { heard.withLock { $0.count } > 0 }
    }

    private struct Heard {
        var count = 0
    }

    private let heard = Locked(Heard())

    private var fileBytes: Int {
        get throws {
            let status = try FileManager.default.attributesOfItem(atPath: fixture.journalPath)
            return (status[.size] as? Int) ?? 0
        }
    }
}

/// Failures of the device that has the journal.
extension JournalTests {
    private func arm(_ call: CFaultsCall, times: Int = 1, _ reason: Int32) throws {
        let key = try #require(try FileKey(path: fixture.journalPath))
        CFaultsArm(dev_t(key.device), ino_t(key.inode), call, 0, Int32(times), reason)
    }

    private func begin() throws -> Environment {
        let environment = try fixture.openJournaled(patient)
        try environment.save(["a": "1"])
        try environment.save(["b": "2"])
        #expect(environment.waitingRecords == 1)
        return environment
    }

    @Test func `a record that finds no space goes into the data file, or fails alone`() throws {
        let environment = try begin()
        try arm(CFaultsWrite, ENOSPC)
        try environment.save(["c": "0"])
        #expect(CFaultsDisarm() == 1)
        try environment.save { access in
            _ = try access.delete(Array("c".utf8), in: Database(index: 0))
        }
        try environment.save(["b": "2"])
        #expect(environment.waitingRecords > 0)
        environment.setCommitFault { .noSpace }
        // It runs again as long as the file has something to give.
        try arm(CFaultsWrite, ENOSPC)
        try environment.save(["b": "2"])
        #expect(CFaultsDisarm() == 1)
        try arm(CFaultsWrite, ENOSPC)
        #expect(code { try environment.save(["c": "3"]) } == .diskFull)
        #expect(CFaultsDisarm() == 1)
        environment.setCommitFault(nil)
        #expect(try environment.entries() == ["a": "1", "b": "2"])
        try environment.save(["d": "4"])
        #expect(try environment.entries() == ["a": "1", "b": "2", "d": "4"])
        environment.close()
        #expect(
            try fixture.openJournaled().entries() == ["a": "1", "b": "2", "d": "4"])
    }

    @Test func `a record cut short is completed, and its commit made`() throws {
        let environment = try begin()
        try arm(CFaultsWrite, 0)
        try environment.save(["c": String(repeating: "x", count: 9_000)])
        #expect(CFaultsDisarm() == 1)
        let path = try fixture.copyAsKilled()
        #expect(try fixture.openJournaled(at: path).entries().count == 3)
    }

    @Test func `after a record that failed every call says to open again`() throws {
        let environment = try begin()
        try arm(CFaultsWrite, EIO)
        #expect(code { try environment.save(["c": "3"]) } == .io)
        #expect(CFaultsDisarm() == 1)
        #expect(code { try environment.save(["c": "3"]) } == .panicked)
        #expect(code { _ = try environment.entries() } == .panicked)
        environment.close()
        let reopened = try fixture.openJournaled()
        #expect(try reopened.entries() == ["a": "1", "b": "2"])
        try reopened.save(["c": "4"])
        #expect(try reopened.entries()["c"] == "4")
    }

    @Test func `a full disk lets saves go on until half of the file is full`() throws {
        let environment = try fixture.openJournaled(.eager(apply: 5, inBackground: true))
        try environment.save(["a": "1"])
        environment.setCommitFault { .noSpace }
        var saved = 0
        let value = String(repeating: "x", count: 9_000)
        while saved < 1_000, code({ try environment.save(["\(saved)": value]) }) == nil {
            saved += 1
            // The thread beside finds no space either.
            let journal = try #require(environment.core.journal)
            if saved == 6 { blockUntil { journal.monitor.inside { journal.lacksSpace } } }
        }
        // Three pages each. The blocks of the other half are for applying them.
        #expect(saved == JournalLimits.halfBytesMin / 4_096 / 3)
        var status = stat()
        stat(fixture.journalPath, &status)
        #expect(Int(status.st_blocks) * 512 <= 8_192 + JournalLimits.halfBytesMin)
        #expect(code { try environment.save(["b": value]) } == .diskFull)
        #expect(try environment.entries().count == saved + 1)
        environment.setCommitFault(nil)
        try environment.save(["b": value])
        #expect(try environment.entries().count == saved + 2)
    }

    @Test(arguments: [false, true])
    func `a record that was lost is damage, and no end of the commits`(isReadOnly: Bool) throws {
        let environment = try fixture.openJournaled(patient) { $0.boot = BootID(testing: 1) }
        for number in 0..<9 { try environment.save(["\(number)": "a"]) }
        let path = try fixture.copyAsKilled()
        let file = try #require(FileHandle(forUpdatingAtPath: path + "/journal"))
        try file.seek(toOffset: 8_192 + 3 * 4_096 + 30)
        try file.write(contentsOf: [77, 77, 77])
        try file.close()
        let opened = code {
            let next = try fixture.openJournaled(patient, at: path) {
                $0.boot = BootID(testing: 2)
                $0.isReadOnly = isReadOnly
            }
            _ = try next.entries()
        }
        #expect(opened == .damaged)
    }
}

extension Environment {
    /// Saves while the calling thread reads.
    fileprivate func saveElsewhere(_ entries: [String: String]) throws {
        try elsewhere { try self.save(entries) }
    }

    fileprivate func applyElsewhere() throws {
        try elsewhere { try self.applyJournal() }
    }

    private func elsewhere(_ body: @escaping @Sendable () throws -> Void) throws {
        let result = Locked(Outcome())
        let thread = SystemThread { result.withLock { $0.result = Result { try body() } } }
        thread.join()
        try result.withLock { $0.result }?.get()
    }

    private struct Outcome {
        var result: Result<Void, any Error>?
    }
}
