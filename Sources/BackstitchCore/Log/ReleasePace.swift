/// Decides when free pages of a store's file go back to the file system, beside commits.
///
/// A value that counts commits: it needs no thread and no timer, and a store without writes
/// does nothing. What is given back costs the file system work now, and again when it is used, so
/// that only a file of which a good part is free is made smaller.
package struct ReleasePace: Equatable, Sendable {
    /// What follows a commit.
    package enum Step: Equatable, Sendable {
        case nothing
        /// To look how much is free, and call ``found(freeBytes:allocatedBytes:)``.
        case look
        /// To give pages below a number back, or from the end of the file on if it is nil, and
        /// call ``released(next:isSupported:)``.
        case release(below: Int?)
    }

    private enum State: Equatable {
        case resting(commits: Int)
        case releasing(below: Int?, commits: Int)
        case stopped
    }

    /// The commits between two looks.
    package static let commitsPerLook = 256
    /// The commits from one step to the next. Each gives back 1,024 pages at most: 64 a commit.
    package static let commitsPerStep = 16
    /// Less is not worth it, in bytes.
    package static let freeBytesMin = 4 << 20
    /// A file is made smaller when more than one part in so many is free.
    package static let freePartsOf = 4

    private var state = State.resting(commits: 0)

    package init() {}

    /// Notes a commit.
    package mutating func next() -> Step {
        switch state {
        case .stopped: return .nothing
        case .resting(let commits):
            let isDue = commits + 1 >= Self.commitsPerLook
            state = .resting(commits: isDue ? 0 : commits + 1)
            return isDue ? .look : .nothing
        case .releasing(let below, let commits):
            let isDue = commits + 1 >= Self.commitsPerStep
            state = .releasing(below: below, commits: isDue ? 0 : commits + 1)
            return isDue ? .release(below: below) : .nothing
        }
    }

    /// Notes how much of the file's blocks is free.
    package mutating func found(freeBytes: Int, allocatedBytes: Int) {
        guard freeBytes >= Self.freeBytesMin,
            freeBytes > allocatedBytes / Self.freePartsOf
        else { return }
        state = .releasing(below: nil, commits: 0)
    }

    /// Notes how a step ended.
    package mutating func released(next: Int?, isSupported: Bool) {
        guard isSupported else { return stop() }
        state = next.map { .releasing(below: $0, commits: 0) } ?? .resting(commits: 0)
    }

    /// Does nothing from now on, because the file system can't or fails.
    package mutating func stop() { state = .stopped }
}
