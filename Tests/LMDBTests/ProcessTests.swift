import CFaults
import Foundation
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

    @Test func `closing inside a read traps`() async {
        await #expect(processExitsWith: .failure) {
            let environment = try Environment.temporary(options: Fixture.options())
            try environment.read { _ in environment.close() }
        }
    }
}
