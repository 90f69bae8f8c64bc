package import Testing
import Threading

/// Runs each test of a suite while it has places of a budget that all tests of the process share.
///
/// Swift Testing begins all tests at once. A store takes a thread, some descriptors and 16 to 64 GiB of
/// addresses, so that a thousand of them are more than a process may have. The number of places does
/// not depend on the machine, and a test never asks for more while it has some: so none waits for ever.
package struct Budget: SuiteTrait, TestTrait, TestScoping {
    /// The places of all tests together.
    package static let placesMax = 6
    /// Whether tests run one at a time, so that what each uses is known: `TEST_BY_TEST` is set.
    static let isOneByOne = Load.count("TEST_BY_TEST", else: 0) > 0
    private static let places = Places(isOneByOne ? 1 : placesMax)

    package let isRecursive = true
    private let count: Int

    fileprivate init(_ count: Int) { self.count = count }

    package func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        // A test may have the trait of its suite and one of its own.
        guard WorkMeter.current == nil else { return try await function() }
        guard test.traits.contains(where: { $0 is ExclusiveFaults }) else {
            return try await run(test, isUrgent: false, function)
        }
        try await ExclusiveFaults.turn.withPlaces { try await run(test, isUrgent: true, function) }
    }

    private func run(
        _ test: Test, isUrgent: Bool, _ function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let count = test.traits.compactMap { ($0 as? Budget)?.count }.max() ?? count
        try await Self.places.withPlaces(count, isUrgent: isUrgent) {
            let work = WorkMeter()
            let run = TestWatch.shared.begin(test, work, places: count)
            defer { TestWatch.shared.end(run) }
            try await WorkMeter.$current.withValue(work) { try await function() }
        }
    }
}

extension Trait where Self == Budget {
    /// A place for each test.
    package static var budgeted: Self { Self(1) }

    /// More places for each test, which has many stores, threads or processes.
    package static func budgeted(places: Int) -> Self { Self(places) }
}
