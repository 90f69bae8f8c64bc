package import Testing

/// Runs each test of a suite while no other one with this trait runs.
///
/// There is one recorder, one counter and one armed call in a process, and suites run beside each
/// other. ``Budget`` waits for the turn before it takes places.
package struct ExclusiveFaults: SuiteTrait, TestTrait {
    /// The one place of all tests with the trait.
    static let turn = Places(1)

    package let isRecursive = true
}

extension Trait where Self == ExclusiveFaults {
    /// One test with this trait runs at a time.
    package static var exclusiveFaults: Self { Self() }
}
