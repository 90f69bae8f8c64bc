import ChildProcess
import Backstitch
import Foundation
import Glibc
import TestBudget
import Testing

@Suite(.budgeted) struct FollowTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    /// Reads up to the end of a line.
    private func line(_ handle: FileHandle) -> String {
        var bytes: [UInt8] = []
        while let byte = handle.readData(ofLength: 1).first, byte != 10 { bytes.append(byte) }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `following shows what another process writes, until interrupted`(number: Int32) throws {
        try fixture.fill(2)
        let child = try Runner.start(
            ["log", fixture.path, "--follow", "--json", "--last", "1"])
        let handle = child.output
        #expect(line(handle).contains("\"sequence\":2,"))
        let store = try fixture.open()
        defer { store.close() }
        for sequence in 3...5 {
            try store.save("more \(sequence)", "More")
            #expect(line(handle).contains("\"sequence\":\(sequence),"))
        }
        child.send(number)
        #expect(try child.wait() == .exit(code: 0))
        #expect(child.complaint.readDataToEndOfFile().isEmpty)
    }

    @Test
    func `following ends without a crash when nobody reads any more`() throws {
        try fixture.fill(1)
        let child = try Runner.start(["log", fixture.path, "--follow"])
        #expect(line(child.output).contains("n0"))
        child.output.closeFile()
        #expect(try child.wait() == .exit(code: 0))
        #expect(child.complaint.readDataToEndOfFile().isEmpty)
    }

    @Test
    func `a reader that stops early makes no noise`() throws {
        try fixture.fill(2_000)
        let result = try Runner.run(
            ["log", fixture.path],
            through: ["/bin/bash", "-c", "\"$0\" \"$@\" | head -1; echo ${PIPESTATUS[0]}"])
        #expect(result.output.hasSuffix("\n0\n"))
        #expect(result.complaint.isEmpty)
    }
}
