package import Testing

/// Runs each test of a suite while no other one with this trait runs.
///
/// There is one recorder, one counter and one armed call in a process, and suites run beside each
/// other. Those who wait occupy no thread: a test may suspend while it has its turn, and the
/// runtime has few threads to go on with.
package struct ExclusiveFaults: SuiteTrait, TestTrait, TestScoping {
    private static let turn = Turn()

    package let isRecursive = true

    package func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        await Self.turn.take()
        let result: Result<Void, any Error>
        do {
            result = .success(try await function())
        } catch {
            result = .failure(error)
        }
        await Self.turn.pass()
        try result.get()
    }

    /// Whose turn it is, in the order of asking.
    private actor Turn {
        private var isTaken = false
        private var waiting: [CheckedContinuation<Void, Never>] = []

        func take() async {
            guard isTaken else { return isTaken = true }
            await withCheckedContinuation { waiting.append($0) }
        }

        func pass() {
            guard waiting.isEmpty else { return waiting.removeFirst().resume() }
            isTaken = false
        }
    }
}

extension Trait where Self == ExclusiveFaults {
    package static var exclusiveFaults: Self { Self() }
}
