/// Before when a failed exchange is not tried again by itself; kept with the zone, so that a restart
/// does not shorten the wait.
package struct RetryDeadline: Hashable, Sendable, Codable {
    /// When it ends, in milliseconds since 1970.
    package var dueMilliseconds: Int64
    /// The failures in a row that led to it.
    package var failures: Int
    /// Whether the service asked for the wait.
    package var isAsked: Bool

    package init(dueMilliseconds: Int64, failures: Int, isAsked: Bool) {
        self.dueMilliseconds = dueMilliseconds
        self.failures = failures
        self.isAsked = isAsked
    }

    /// The same deadline, no further away than one that could be set now: the clock may have been
    /// put back since.
    package func bounded(nowMilliseconds now: Int64) -> RetryDeadline {
        let longest = isAsked ? Backoff.askedMillisecondsMax : Backoff.longestMilliseconds
        var bounded = self
        bounded.dueMilliseconds = min(dueMilliseconds, now + longest)
        return bounded
    }
}
