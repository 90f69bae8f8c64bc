import Threading

/// Counts what a hub does.
final class HubMetrics: Sendable {
    private struct Key: Hashable {
        var call: String
        var status: Int
    }

    private struct State {
        var requests: [Key: Int] = [:]
        var savedRecords = 0
        var deletedRecords = 0
        var repeatedRequests = 0
        var notifications = 0
        var untoldRequests = 0
        var tokensOfLostHistory = 0
    }

    private let state = Locked(State())

    /// Counts a request that was answered.
    func countRequest(_ call: String, status: Int) {
        state.withLock { $0.requests[Key(call: call, status: status), default: 0] += 1 }
    }

    /// Counts records that were written.
    func countRecords(saved: Int, deleted: Int) {
        state.withLock {
            $0.savedRecords += saved
            $0.deletedRecords += deleted
        }
    }

    /// Counts a request that came again and got its first answer.
    func countRepetition() { state.withLock { $0.repeatedRequests += 1 } }

    /// Counts notifications that were given to the courier.
    func countNotifications(_ count: Int) { state.withLock { $0.notifications += count } }

    /// Counts a request of which no device was notified, because too many others waited for that.
    func countUntoldRequest() { state.withLock { $0.untoldRequests += 1 } }

    /// Counts a token of commits that the hub lost.
    func countTokenOfLostHistory() { state.withLock { $0.tokensOfLostHistory += 1 } }

    /// What was counted.
    func families(
        waitingCouriers: Int, waiting: (passwords: Int, uploads: Int), storageMisses: Int,
        storageRoundTrips: Int
    ) -> [MetricFamily] {
        let state = state.withLock { $0 }
        var requests = MetricFamily(
            .counter, "backstitch_hub_requests_total",
            "Requests that were answered; refused ones had a head that nobody may act upon.")
        for (key, count) in state.requests.sorted(by: {
            ($0.key.call, $0.key.status) < ($1.key.call, $1.key.status)
        }) {
            requests.add(count, ["call": key.call, "status": "\(key.status)"])
        }
        func counter(_ name: String, _ help: String, _ value: Int) -> MetricFamily {
            MetricFamily(.counter, "backstitch_hub_" + name, help, value)
        }
        func gauge(_ name: String, _ help: String, _ value: Int) -> MetricFamily {
            MetricFamily(.gauge, "backstitch_hub_" + name, help, value)
        }
        return [
            requests,
            counter("records_saved_total", "Records that were saved.", state.savedRecords),
            counter("records_deleted_total", "Records that were deleted.", state.deletedRecords),
            counter(
                "requests_repeated_total", "Requests that came again and got their first answer.",
                state.repeatedRequests),
            counter("notifications_total", "Notifications to the courier.", state.notifications),
            counter(
                "requests_untold_total", "Requests of whose changes no device was told.",
                state.untoldRequests),
            counter(
                "tokens_of_lost_history_total",
                "Change tokens of commits that the data of the hub does not have.",
                state.tokensOfLostHistory),
            counter(
                "storage_misses_total",
                "Reads of which a storage that is far away was not told before.",
                storageMisses),
            counter(
                "storage_round_trips_total", "Round trips to a database.", storageRoundTrips),
            gauge("couriers_waiting", "Long polls that wait.", waitingCouriers),
            gauge("passwords_waiting", "Passwords that wait for a thread.", waiting.passwords),
            gauge("uploads_waiting", "Uploads that wait for a thread.", waiting.uploads),
        ]
    }
}
