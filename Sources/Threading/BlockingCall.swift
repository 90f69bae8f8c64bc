/// A call that another thread performs while the caller waits.
///
/// The closure is released before the caller goes on, so that it need not outlive the call.
package final class BlockingCall<Input, Output: Sendable>:
    @unchecked Sendable  // One thread performs; it hands the outcome over behind the monitor.
{
    private let monitor = Monitor()
    private var work: (@Sendable (Input) throws -> Output)?
    private var output: Output?
    private var ending: Result<Void, any Error>?

    package init(_ work: @escaping @Sendable (Input) throws -> Output) { self.work = work }

    /// Performs the call. It may be performed again before it has ended; the last output counts.
    package func perform(_ input: Input) throws {
        guard let work else { preconditionFailure("The call has ended.") }
        output = try work(input)
    }

    /// Lets the caller go on: with the output, or with an error.
    package func end(_ result: Result<Void, any Error>) {
        work = nil
        monitor.inside {
            ending = result
            monitor.signal()
        }
    }

    /// Waits for the end.
    package func wait() throws -> Output {
        try monitor.inside {
            while true {
                if let ending {
                    try ending.get()
                    guard let output else { preconditionFailure("The call was not performed.") }
                    return output
                }
                monitor.wait()
            }
        }
    }
}
