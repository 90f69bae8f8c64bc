import TestBudget
import Testing

@testable import BackstitchHubCore

@Suite(.budgeted) struct FailureCountsTests {
    private let empty = FailureCounts<String>(windowMilliseconds: 1_000, keysMax: 100)

    @Test func `failures count from the first one until the time has ended`() {
        var counts = empty
        counts.note("a", now: 0)
        counts.note("a", now: 900)
        #expect(counts.count(of: "a", now: 999) == 2)
        #expect(counts.count(of: "a", now: 1_000) == 0)
        counts.note("a", now: 1_000)
        #expect(counts.count(of: "a", now: 1_999) == 1)
        counts.forget("a")
        #expect(counts.count(of: "a", now: 1_999) == 0)
    }

    @Test func `many other keys don't reset a key that failed often`() {
        var counts = empty
        for _ in 0..<20 { counts.note("ada", now: 0) }
        for number in 0..<2_000 { counts.note("guess \(number)", now: 1) }
        #expect(counts.count(of: "ada", now: 1) == 20)
        #expect(counts.keyCount <= 100)
    }

    @Test func `those whose time has ended are forgotten before others`() {
        var counts = empty
        for number in 0..<80 {
            for _ in 0..<5 { counts.note("old \(number)", now: 0) }
        }
        for number in 0..<20 { counts.note("new \(number)", now: 500) }
        counts.note("newest", now: 1_000)
        #expect(counts.keyCount == 21)
        #expect(counts.count(of: "new 7", now: 1_000) == 1)
    }

    @Test func `a try counts before it is made, and not if it is taken back`() {
        var counts = empty
        let taken = [Int64(0), 10, 20].map { counts.take("a", now: $0, max: 2) }
        #expect(taken == [true, true, false])
        counts.takeBack("a", notedAt: 10)
        #expect(counts.count(of: "a", now: 20) == 1)
        counts.takeBack("a", notedAt: 0)
        counts.takeBack("a", notedAt: 0)
        counts.takeBack("nobody", notedAt: 0)
        #expect(counts.keyCount == 0)
        // One of an hour that is over takes nothing from the next one.
        counts.note("a", now: 1_000)
        counts.takeBack("a", notedAt: 999)
        #expect(counts.count(of: "a", now: 1_000) == 1)
    }

    @Test func `room is made for many keys at once`() {
        var counts = empty
        var rooms = 0
        for number in 0..<2_000 {
            let before = counts.keyCount
            counts.note("\(number)", now: 0)
            if counts.keyCount <= before { rooms += 1 }
        }
        #expect(rooms <= 2_000 / 25)
    }

    @Test func `many names and addresses don't reset the limits of a hub`() {
        let gate = SignInGate()
        for _ in 0..<3 { #expect(gate.takeTry(forUser: "ada", now: 0, max: 3)) }
        for _ in 0..<3 { gate.noteFailure(of: "192.0.2.1", now: 0) }
        // More than are remembered, so that room is made.
        for number in 0..<13_000 {
            _ = gate.takeTry(forUser: "guess \(number)", now: 0, max: 3)
            gate.noteFailure(of: "10.0.\(number >> 8).\(number & 255)", now: 0)
        }
        #expect(!gate.takeTry(forUser: "ada", now: 0, max: 3))
        #expect(gate.isClosed(to: "192.0.2.1", now: 0, max: 3))
    }
}
