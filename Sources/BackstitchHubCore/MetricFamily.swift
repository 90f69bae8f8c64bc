/// Figures of one name, as Prometheus knows them.
package struct MetricFamily: Hashable, Sendable {
    package enum Kind: String, Sendable {
        case counter
        case gauge
        case histogram
    }

    /// A line: a value with its labels.
    package struct Sample: Hashable, Sendable {
        /// What is added to the name, as `_sum` of a histogram.
        var suffix = ""
        var labels: [Label] = []
        let value: String
    }

    package struct Label: Hashable, Sendable {
        let name: String
        let value: String
    }

    package let name: String
    package let kind: Kind
    package let help: String
    package var samples: [Sample] = []

    /// Figures of which there are none yet.
    package init(_ kind: Kind, _ name: String, _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
    }

    /// One figure without labels.
    package init(_ kind: Kind, _ name: String, _ help: String, _ value: Int) {
        self.init(kind, name, help)
        add(value)
    }

    /// Adds a figure.
    ///
    /// - Parameter labels: Names and values. The hub chooses the values: none comes from a client, so that
    ///   there are few of them and they give nothing of a client away.
    package mutating func add(
        _ value: Int, suffix: String = "", _ labels: KeyValuePairs<String, String> = [:]
    ) {
        add(String(value), suffix: suffix, labels)
    }

    /// As above, for a number that was spelt already.
    package mutating func add(
        _ value: String, suffix: String = "", _ labels: KeyValuePairs<String, String> = [:]
    ) {
        samples.append(
            Sample(
                suffix: suffix, labels: labels.map { Label(name: $0.key, value: $0.value) },
                value: value))
    }

    /// The names of the labels, those that a histogram adds left out.
    package var labelNames: Set<String> {
        Set(samples.flatMap { $0.labels.map(\.name) }).subtracting(["le"])
    }

    /// The lines in the text format of Prometheus, version 0.0.4.
    package var text: String {
        var text = "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
        for sample in samples {
            text += name + sample.suffix
            if !sample.labels.isEmpty {
                let labels = sample.labels.map { "\($0.name)=\"\($0.value)\"" }
                text += "{" + labels.joined(separator: ",") + "}"
            }
            text += " \(sample.value)\n"
        }
        return text
    }
}

/// A part beside the hub's core that counts something.
package struct MetricSource: Sendable {
    package let families: @Sendable () -> [MetricFamily]

    package init(_ families: @escaping @Sendable () -> [MetricFamily]) { self.families = families }
}
