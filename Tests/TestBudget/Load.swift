import Foundation

/// How much a test does: little in each run, and more in its long form, which a variable of the
/// environment asks for.
package enum Load {
    /// The value of a variable.
    ///
    /// - Parameter brief: The value if it is not set.
    package static func count(_ variable: String, else brief: Int) -> Int {
        ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } ?? brief
    }

    /// Whether tests try every one of what they otherwise try each nth of: `EVERY_POINT` is set.
    package static let triesEveryPoint = count("EVERY_POINT", else: 0) > 0

    /// A number that the first of those that are tried follows from, so that runs with different numbers
    /// try different ones: `TEST_NUMBER`.
    private static let number = count("TEST_NUMBER", else: 0)

    /// The first of the calls, steps or points that are tried, and how many come from one to the next.
    ///
    /// - Parameter stride: One of how many is tried.
    package static func steps(oneOf stride: Int) -> (first: Int, stride: Int) {
        triesEveryPoint ? (0, 1) : (number % stride, stride)
    }

    /// Those of some that are tried.
    ///
    /// - Parameter stride: One of how many is tried.
    package static func some<Element>(of all: some Collection<Element>, oneOf stride: Int)
        -> [Element]
    {
        let (first, stride) = steps(oneOf: stride)
        return all.enumerated().filter { $0.offset % stride == first % stride }.map(\.element)
    }
}
