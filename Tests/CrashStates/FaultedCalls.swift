import CFaults
import Glibc

/// Makes calls to the operating system fail, by their number since a moment.
///
/// Only what concerns one folder counts. One counts at a time in a process: suites that use this
/// have the trait `.exclusiveFaults`.
package enum FaultedCalls {
    /// Runs a closure while calls fail.
    ///
    /// - Parameters:
    ///   - folder: The absolute path of the folder, without symbolic links.
    ///   - number: How many calls succeed first.
    ///   - times: How many calls fail after them.
    ///   - reason: The error number of the failures.
    ///   - body: Must not throw.
    /// - Returns: What the closure returned, how many calls failed, and all calls in their order:
    ///   name and path within the folder.
    package static func run<Result>(
        in folder: String, from number: Int, times: Int, _ reason: Int32,
        _ body: () async -> Result
    ) async -> (result: Result, failed: Int, calls: [String]) {
        CFaultsCount(folder, Int32(number), Int32(times), reason)
        return counted(await body())
    }

    /// Runs a closure while one call reads or writes a part of its bytes.
    ///
    /// - Parameters:
    ///   - folder: The absolute path of the folder, without symbolic links.
    ///   - number: How many calls come before. Where it is a call that neither reads nor writes,
    ///     nothing goes wrong.
    ///   - thenFull: Whether every write behind it fails, until the closure has ended.
    ///   - body: Must not throw.
    /// - Returns: What the closure returned, how many calls were cut short or failed, and all calls.
    package static func runShort<Result>(
        in folder: String, at number: Int, thenFull: Bool, _ body: () async -> Result
    ) async -> (result: Result, failed: Int, calls: [String]) {
        CFaultsCountShort(folder, Int32(number), thenFull)
        return counted(await body())
    }

    private static func counted<Result>(
        _ result: Result
    ) -> (result: Result, failed: Int, calls: [String]) {
        var failed: Int32 = 0
        guard let text = CFaultsCounted(&failed) else { return (result, Int(failed), []) }
        defer { free(text) }
        let calls = String(cString: text).split(separator: "\n").map(String.init)
        return (result, Int(failed), calls)
    }
}
