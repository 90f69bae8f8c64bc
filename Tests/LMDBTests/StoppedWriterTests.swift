import CFaults
import Glibc
import TestBudget
import Testing

@testable import LMDB

/// A writer that is stopped in the middle of a write keeps all others waiting, and is found.
@Suite(.budgeted) struct StoppedWriterTests {
    @Test func `a process that is stopped inside a write is named until it goes on`() throws {
        let fixture = try Fixture(inMemory: true)
        try fixture.open().close()
        #expect(EnvironmentFiles(at: fixture.store).stoppedWriter == nil)
        let child = CFaultsHangInChild(fixture.store, 1 << 30, true)
        try #require(child > 0)
        defer { CFaultsKill(child) }
        #expect(EnvironmentFiles(at: fixture.store).stoppedWriter == nil)
        kill(child, SIGSTOP)
        var status: Int32 = 0
        #expect(waitpid(child, &status, WUNTRACED) == child)
        #expect(EnvironmentFiles(at: fixture.store).stoppedWriter?.process == child)
        kill(child, SIGCONT)
        // 8 is WCONTINUED.
        #expect(waitpid(child, &status, 8) == child)
        #expect(EnvironmentFiles(at: fixture.store).stoppedWriter == nil)
    }

    @Test func `a process that is stopped elsewhere is not named`() throws {
        let fixture = try Fixture(inMemory: true)
        try fixture.open().close()
        let child = CFaultsHangInChild(fixture.store, 1 << 30, false)
        try #require(child > 0)
        defer { CFaultsKill(child) }
        kill(child, SIGSTOP)
        var status: Int32 = 0
        #expect(waitpid(child, &status, WUNTRACED) == child)
        #expect(EnvironmentFiles(at: fixture.store).stoppedWriter == nil)
    }
}
