import Threading

/// A bar on standard error for work that takes longer than a moment; none if that is piped.
///
/// Call ``update(done:total:)`` as often as you like, from any thread, and ``finish()`` at the end.
package final class Progress: Sendable {
    private struct State {
        var shown = ""
        var last: ContinuousClock.Instant?
        var isFinished = false
        var pace = Pace()
    }

    /// How fast work is done, from the first update on: what was done before took no time here.
    struct Pace {
        private var first: (done: Int, time: Duration)?
        private var done = 0

        /// The time that the rest takes at this pace; nil as long as there is none.
        mutating func timeLeft(done: Int, total: Int, at time: Duration) -> Duration? {
            defer { self.done = done }
            // Work that begins again counts from there.
            guard let first, done >= self.done else {
                self.first = (done, time)
                return nil
            }
            guard done > first.done, done < total else { return nil }
            return (time - first.time) * (Double(total - done) / Double(done - first.done))
        }
    }

    /// Work that is shorter shows nothing.
    static let patience = Duration.seconds(2)
    /// The time between two updates of what is shown.
    static let interval = Duration.milliseconds(100)
    private static let width = 30
    /// A shorter bar shows nothing.
    private static let widthMin = 8

    private let title: String
    private let output: Output
    private let isShown: Bool
    private let columns: @Sendable () -> Int?
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    private let state = Locked(State())

    /// - Parameter columns: The width of the terminal; nil if there is none.
    package init(
        _ title: String, output: Output, isShown: Bool,
        columns: @escaping @Sendable () -> Int? = { nil }
    ) {
        self.title = title
        self.columns = columns
        self.output = output
        self.isShown = isShown
        start = clock.now
    }

    /// Tells how much is done. The time that is left follows from the pace so far.
    package func update(done: Int, total: Int) {
        guard isShown, total > 0 else { return }
        let time = clock.now - start
        let left = state.withLock { $0.pace.timeLeft(done: done, total: total, at: time) }
        show { Self.line(title, done: done, total: total, left: left, columns: $0) }
    }

    /// Shows how many things are done, for work whose total is not known.
    package func update(count: Int, of thing: String) {
        show { Self.cut("\(title): \(count.counted(thing)) so far", to: $0) }
    }

    /// - Parameter text: Gets the columns that it may take.
    private func show(_ text: (Int?) -> String) {
        guard isShown else { return }
        let now = clock.now
        guard now - start >= Self.patience else { return }
        state.withLock { state in
            guard !state.isFinished else { return }
            if let last = state.last, now - last < Self.interval { return }
            state.last = now
            // A terminal goes to the next line behind its last column.
            let text = text(columns().map { $0 - 1 })
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

    /// The bar as text, which is shorter where there are few columns, and left out where it would be too
    /// short.
    package static func line(
        _ title: String, done: Int, total: Int, left: Duration? = nil, columns: Int? = nil
    ) -> String {
        let done = min(max(done, 0), total)
        let share = total > 0 ? Double(done) / Double(total) : 1
        // Between title and numbers there are blanks and brackets.
        func room(_ numbers: String) -> Int {
            columns.map { $0 - title.count - numbers.count - 4 } ?? Self.width
        }
        var numbers = "\(Int(share * 100)) %  \(done.grouped) of \(total.grouped)"
        if let left {
            let longer = numbers + "  \(text(of: left)) left"
            if room(longer) >= Self.widthMin { numbers = longer }
        }
        let width = min(Self.width, room(numbers))
        guard width >= Self.widthMin else { return cut("\(title) \(numbers)", to: columns) }
        let filled = Int(share * Double(width))
        let bar =
            String(repeating: "#", count: filled)
            + String(repeating: ".", count: width - filled)
        return "\(title) [\(bar)] \(numbers)"
    }

    /// A time in its two largest units.
    private static func text(of time: Duration) -> String {
        let seconds = max(1, Int(time.components.seconds))
        if seconds < 60 { return "\(seconds) s" }
        if seconds < 3_600 { return "\(seconds / 60) min \(seconds % 60) s" }
        return "\((seconds / 3_600).grouped) h \(seconds / 60 % 60) min"
    }

    private static func cut(_ text: String, to columns: Int?) -> String {
        columns.map { String(text.prefix(max(0, $0))) } ?? text
    }
}
