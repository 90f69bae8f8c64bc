import Glibc

/// Waits until a condition holds, and looks again and again.
///
/// It has no deadline: on a busy machine a condition comes late, and that is no failure. The watch over all
/// tests ends a run in which nothing proceeds any more.
///
/// - Parameter pause: The time between two looks.
/// - Throws: what the condition throws, and `CancellationError` in a task that was cancelled, so that a
///   test ends whose other tasks have failed.
package func eventually(
    pausing pause: Duration = .milliseconds(1), _ holds: () async throws -> Bool
) async throws {
    while try await !holds() { try await Task.sleep(for: pause) }
}

/// As ``eventually(pausing:_:)``, for a thread that may wait.
package func blockUntil(_ holds: () throws -> Bool) rethrows {
    while try !holds() { usleep(1_000) }
}
