/// When a session ends.
struct SessionLife: Hashable, Sendable {
    /// The first moment at which the token counts no longer, in milliseconds since 1970.
    let end: Int64
    /// Whether a later token is to take its place.
    let isDue: Bool

    /// - Parameter now: Milliseconds since 1970.
    init(_ token: WebToken, of row: WebTokenRow, _ limits: HubLimits, now: Int64) {
        let idle = limits.sessionMilliseconds
        let ends = row.ends
        guard let issued = token.issued.map({ $0 * 1_000 }) else {
            end = row.expires
            isDue = now >= row.expires - idle + limits.renewalMilliseconds && ends > row.expires
            return
        }
        end = min(issued + idle, ends)
        isDue = now >= issued + limits.renewalMilliseconds && ends > end
    }
}

extension HubLimits {
    private static let dayMilliseconds: Int64 = 24 * 3_600 * 1_000

    /// The time without use after which a session ends, in milliseconds.
    var sessionMilliseconds: Int64 { Int64(sessionDays) * Self.dayMilliseconds }

    /// The time after which a session ends in any case, in milliseconds.
    var longestSessionMilliseconds: Int64 {
        Int64(max(sessionDays, sessionDaysMax)) * Self.dayMilliseconds
    }

    /// How old a token is when a later one takes its place, in milliseconds.
    var renewalMilliseconds: Int64 { sessionMilliseconds / 14 }
}

extension WebTokenRow {
    /// When all of its tokens that were issued end, in milliseconds since 1970.
    func idleEnd(_ limits: HubLimits) -> Int64 {
        guard let used else { return expires }
        return min(ends, max(expires, used + limits.sessionMilliseconds))
    }

    /// Whether it is to be noted that a later token is issued: it was not for a while.
    func isUseNews(_ limits: HubLimits, now: Int64) -> Bool {
        now >= (used ?? 0) + limits.renewalMilliseconds / 2
    }
}
