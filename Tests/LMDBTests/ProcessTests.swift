import CFaults
import Foundation
import Glibc
import TestBudget
import Testing

@testable import LMDB

@Suite(.budgeted) struct ProcessTests {
    let fixture: Fixture

    init() throws {
        fixture = try Fixture()
    }

    @Test func `a forked child is refused`() async {
        await #expect(processExitsWith: .success) {
            let fixture = try Fixture()
            let environment = try fixture.open()
            try environment.save(["a": "1"])
            let status = CFaultsInChild(
                { context in
                    guard let context else { return 1 }
                    let environment = Unmanaged<Environment>.fromOpaque(context)
                        .takeUnretainedValue()
                    if code({ try environment.read { _ in } }) != .forked { return 2 }
                    if code({ try environment.save(["b": "2"]) }) != .forked { return 3 }
                    if code({ try environment.checkReaders() }) != .forked { return 4 }
                    environment.close()
                    return 0
                }, Unmanaged.passUnretained(environment).toOpaque())
            #expect(status == 0)
            try environment.save(["c": "3"])
            #expect(try environment.entries() == ["a": "1", "c": "3"])
        }
    }

    @Test func `a writer that was killed doesn't block the next one`() throws {
        let environment = try fixture.open()
        try environment.save(["a": "1"])
        for round in 0..<3 {
            let child = CFaultsHangInChild(fixture.store, 1 << 30, true)
            #expect(child > 0)
            CFaultsKill(child)
            try environment.save(["b": "\(round)"])
            #expect(try environment.entries() == ["a": "1", "b": "\(round)"])
        }
    }

    @Test func `other processes and this one see each other's commits`() throws {
        let environment = try fixture.open()
        try environment.save(["a": "1"])
        #expect(CFaultsWriteInChild(fixture.store, 1 << 30, 3, 5) == 0)
        #expect(try environment.entries().count == 4)
        try environment.save(["b": "2"])
        #expect(try environment.entries().count == 5)
    }

    @Test func `a process with this one's number, of another PID namespace, is named`() throws {
        try fixture.open().close()
        // LMDB of that process would lock this byte. A lock of an open file (fcntl(2), number 37) is in the
        // way of those of its own process too.
        let descriptor = open(fixture.store + "/lock.mdb", O_RDWR | O_CLOEXEC)
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = off_t(getpid())
        lock.l_len = 1
        #expect(fcntl(descriptor, 37, &lock) == 0)
        let error = #expect(throws: LMDBError.self) { try fixture.open() }
        #expect(error?.code == .busy)
        #expect(error?.message.contains("PID namespace") == true)
        close(descriptor)
        #expect(try fixture.open().entries() == [:])
    }

    /// The system takes all locks of a process on a file away when it closes any descriptor of it.
    @Test func `locks that the process gave up by reading its lock file are no damage`() throws {
        let environment = try fixture.open()
        try environment.save(["a": "1"])
        #expect(try environment.entries() == ["a": "1"])
        _ = try Data(contentsOf: URL(fileURLWithPath: fixture.store + "/lock.mdb"))
        var wake: Int32 = -1
        let child = CFaultsReadInChild(fixture.store, 1 << 30, &wake)
        #expect(child > 0)
        let error = #expect(throws: LMDBError.self) { try environment.entries() }
        #expect(error?.code == .other)
        #expect(error?.message.contains("The data is intact: close the environment") == true)
        #expect(CFaultsEndReading(child, wake) == 0)
        environment.close()
        #expect(try fixture.open().entries() == ["a": "1"])
    }

    @Test func `a folder that is renamed while it is open is no damage`() async throws {
        let environment = try fixture.open()
        try environment.save(["a": "1"])
        let renamed = fixture.root + "/renamed"
        #expect(rename(fixture.store, renamed) == 0)
        #expect(try environment.entries() == ["a": "1"])
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = renamed as String] in
            let other = try Environment.open(
                at: path, options: Fixture.options { $0.journal = .eager(apply: 1_000) })
            for number in 0..<10 { try other.save(["b": "\(number)"]) }
            kill(getpid(), SIGKILL)
        }
        let error = #expect(throws: LMDBError.self) { try environment.entries() }
        #expect(error?.code == .notFoundPath)
        #expect(error?.message.contains("renamed") == true)
        environment.close()
        let next = try Environment.open(at: renamed, options: Fixture.options())
        #expect(try next.entries() == ["a": "1", "b": "9"])
    }

    @Test func `closing inside a read traps`() async {
        await #expect(processExitsWith: .failure) {
            let environment = try Environment.temporary(options: Fixture.options())
            try environment.read { _ in environment.close() }
        }
    }
}
