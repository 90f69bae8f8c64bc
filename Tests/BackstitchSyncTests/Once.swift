import Threading

/// True once.
final class OneTime: Sendable {
    private let isTaken = Locked(false)

    func take() -> Bool {
        isTaken.withLock { isTaken in
            defer { isTaken = true }
            return !isTaken
        }
    }
}

/// Counts from 1 to a number, then ends.
final class Countdown: Sendable {
    private let taken = Locked(0)
    private let count: Int

    init(_ count: Int) { self.count = count }

    func take() -> Int? {
        taken.withLock { taken in
            guard taken < count else { return nil }
            taken += 1
            return taken
        }
    }
}
