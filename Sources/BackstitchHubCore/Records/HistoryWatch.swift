import Threading

/// Tells whoever runs the hub that a client knows of commits that the hub's data does not have.
final class HistoryWatch: Sendable {
    /// So long there is no other line in the log: of a hub whose data was put back all devices may say so.
    static let quietMilliseconds: Int64 = 3_600_000

    private static let message =
        "A client's change token tells of commits that the hub's data does not have, as after the data was "
        + "put back to an older state. Devices with such tokens fetch everything anew and send what the hub "
        + "lacks. The guide says under 'When something is wrong' what to do."

    private let configuration: HubConfiguration
    private let metrics: HubMetrics
    /// When the last line was written, in milliseconds of the steady clock.
    private let lastLine = Locked<Int64?>(nil)

    init(configuration: HubConfiguration, metrics: HubMetrics) {
        (self.configuration, self.metrics) = (configuration, metrics)
    }

    /// Counts a token of commits that the hub lost, and writes a line about it unless there is a recent one.
    func noteLoss() {
        metrics.countTokenOfLostHistory()
        let now = configuration.steadyNow
        let isDue = lastLine.withLock { last in
            if let time = last, now - time < Self.quietMilliseconds { return false }
            last = now
            return true
        }
        guard isDue else { return }
        configuration.log(failure: HubError(.damaged, Self.message), call: "history")
    }
}
