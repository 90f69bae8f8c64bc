import Threading

/// A bar on standard error for work that takes longer than a moment; none if that is piped.
///
/// Call ``update(done:total:)`` as often as you like, from any thread, and ``finish()`` at the end.
package final class Progress: Sendable {
    private struct State {
        var shown = ""
        var last: ContinuousClock.Instant?
        var isFinished = false
    }

    /// Work that is shorter shows nothing.
    static let patience = Duration.seconds(2)
    /// The time between two updates of what is shown.
    static let interval = Duration.milliseconds(100)
    private static let width = 30

    private let title: String
    private let output: Output
    private let isShown: Bool
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    private let state = Locked(State())

    package init(_ title: String, output: Output, isShown: Bool) {
        self.title = title
        self.output = output
        self.isShown = isShown
        start = clock.now
    }

    /// Tells how much is done.
    package func update(done: Int, total: Int) {
        guard total > 0 else { return }
        show { Self.line(title, done: done, total: total) }
    }

    /// Shows how many things are done, for work whose total is not known.
    package func update(count: Int, of thing: String) {
        show { "\(title): \(count.counted(thing)) so far" }
    }

    private func show(_ text: () -> String) {
        guard isShown else { return }
        let now = clock.now
        guard now - start >= Self.patience else { return }
        state.withLock { state in
            guard !state.isFinished else { return }
            if let last = state.last, now - last < Self.interval { return }
            state.last = now
            let text = text()
            guard text != state.shown else { return }
            output.write("\r" + text + "\u{1B}[K")
            output.flush()
            state.shown = text
        }
    }

    /// Takes the bar away.
    package func finish() {
        state.withLock { state in
            state.isFinished = true
            guard !state.shown.isEmpty else { return }
            output.write("\r\u{1B}[K")
            output.flush()
        }
    }

    /// The bar as text.
    package static func line(_ title: String, done: Int, total: Int) -> String {
        let done = min(max(done, 0), total)
        let share = total > 0 ? Double(done) / Double(total) : 1
        let filled = Int(share * Double(width))
        let bar =
            String(repeating: "#", count: filled)
            + String(repeating: ".", count: width - filled)
        return "\(title) [\(bar)] \(Int(share * 100)) %  \(done.grouped) of \(total.grouped)"
    }
}
