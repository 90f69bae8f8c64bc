import CFaults

/// Makes calls to the operating system fail, by their number since a moment.
///
/// Only what concerns one folder counts. One counts at a time in a process.
package enum FaultedCalls {
    /// Runs a closure while calls fail.
    ///
    /// - Parameters:
    ///   - folder: The absolute path of the folder, without symbolic links.
    ///   - number: How many calls succeed first.
    ///   - times: How many calls fail after them.
    ///   - reason: The error number of the failures.
    ///   - body: Must not throw.
    /// - Returns: What the closure returned, and how many calls failed.
    package static func run<Result>(
        in folder: String, from number: Int, times: Int, _ reason: Int32,
        _ body: () async -> Result
    ) async -> (result: Result, failed: Int) {
        CFaultsCount(folder, Int32(number), Int32(times), reason)
        let result = await body()
        var failed: Int32 = 0
        CFaultsCounted(&failed)
        return (result, Int(failed))
    }
}
