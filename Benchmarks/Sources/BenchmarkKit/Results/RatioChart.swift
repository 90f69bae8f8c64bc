import Foundation

/// A bar chart of how many times an engine's figures are those of another, on a logarithmic scale.
public struct RatioChart: Sendable {
    private let results: Results
    private let base: String
    private let others: [String]
    private let title: String
    private let note: String
    private let scale: LogScale

    private static let labelWidth = 120.0
    private static let plotWidth = 620.0
    private static let barHeight = 11.0
    private static let groupGap = 10.0
    private static let headHeight = 84.0
    private static let footHeight = 36.0
    private static let colours = ["#4C6EF5", "#F08C00", "#E8590C", "#2F9E44", "#9C36B5"]

    /// A chart of all engines but `base`, as multiples of it.
    public init(_ results: Results, base: String, title: String, note: String) {
        self.results = results
        self.base = base
        self.title = title
        self.note = note
        others = results.engines.filter { $0 != base }
        let ratios = results.workloads.flatMap { workload in
            results.engines.compactMap { results.ratio(workload, $0, to: base) }
        }
        scale = LogScale(covering: ratios, width: Self.plotWidth)
    }

    /// The chart as an SVG document.
    public var svg: String {
        let groupHeight = Double(others.count) * Self.barHeight + Self.groupGap
        let plotHeight = Double(results.workloads.count) * groupHeight
        let width = Self.labelWidth + Self.plotWidth + 70
        let height = Self.headHeight + plotHeight + Self.footHeight
        var lines = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \(width) \(height)\""
                + " width=\"\(width)\" height=\"\(height)\" font-family=\"sans-serif\""
                + " font-size=\"11\">",
            "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>",
            text(12, 22, title, "font-size=\"15\" font-weight=\"bold\""),
            text(12, 40, note, "fill=\"#555555\""),
        ]
        lines += legend
        lines += grid(height: plotHeight)
        for (row, workload) in results.workloads.enumerated() {
            lines += group(workload, top: Self.headHeight + Double(row) * groupHeight)
        }
        return (lines + ["</svg>"]).joined(separator: "\n") + "\n"
    }

    private var legend: [String] {
        others.enumerated().flatMap { index, engine in
            let left = Self.labelWidth + Double(index) * 130
            return [
                "<rect x=\"\(left)\" y=\"52\" width=\"10\" height=\"10\" fill=\"\(colour(index))\"/>",
                text(left + 15, 61, engine, ""),
            ]
        }
    }

    private func grid(height: Double) -> [String] {
        scale.ticks.flatMap { tick in
            let x = number(Self.labelWidth + scale.position(tick))
            let bottom = number(Self.headHeight + height)
            let style =
                tick == 1 ? "stroke=\"#222222\" stroke-width=\"1.5\"" : "stroke=\"#dddddd\""
            return [
                "<line x1=\"\(x)\" x2=\"\(x)\" y1=\"\(Self.headHeight - 6)\" y2=\"\(bottom)\" \(style)/>",
                "<text x=\"\(x)\" y=\"\(number(Self.headHeight + height + 16))\""
                    + " text-anchor=\"middle\" fill=\"#555555\">\(LogScale.label(tick))</text>",
            ]
        }
    }

    private func group(_ workload: String, top: Double) -> [String] {
        let middle = top + Double(others.count) * Self.barHeight / 2 + 4
        var lines = [
            "<text x=\"\(Self.labelWidth - 8)\" y=\"\(number(middle))\" text-anchor=\"end\">"
                + "\(escape(workload))</text>"
        ]
        for (index, engine) in others.enumerated() {
            guard let ratio = results.ratio(workload, engine, to: base) else { continue }
            let one = scale.position(1)
            let end = scale.position(ratio)
            let y = top + Double(index) * Self.barHeight
            let left = number(Self.labelWidth + min(one, end))
            let length = number(max(abs(end - one), 0.5))
            lines.append(
                "<rect x=\"\(left)\" y=\"\(number(y))\" width=\"\(length)\""
                    + " height=\"\(Self.barHeight - 1)\" fill=\"\(colour(index))\"/>")
            let labelLeft = Self.labelWidth + max(one, end) + 4
            lines.append(
                text(labelLeft, y + 9, Figures.digits(ratio), "fill=\"#555555\" font-size=\"9\""))
        }
        return lines
    }

    private func colour(_ index: Int) -> String { Self.colours[index % Self.colours.count] }

    private func text(_ x: Double, _ y: Double, _ content: String, _ style: String) -> String {
        "<text x=\"\(number(x))\" y=\"\(number(y))\" \(style)>\(escape(content))</text>"
    }

    private func number(_ value: Double) -> String { String(format: "%.1f", value) }

    private func escape(_ text: String) -> String {
        text.replacingOccurrences(of: "&", with: "&amp;")
            .replacingOccurrences(of: "<", with: "&lt;")
            .replacingOccurrences(of: ">", with: "&gt;")
    }
}
