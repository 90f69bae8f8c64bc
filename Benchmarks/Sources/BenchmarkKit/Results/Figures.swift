import Foundation

/// How figures are written for people.
public enum Figures {
    /// A number with its unit, three significant digits: `1.23 µs`, `12.3 MB`.
    public static func text(_ value: Double, unit: String) -> String {
        switch unit {
        case "ns": scaled(value, ["ns", "µs", "ms", "s"])
        case "bytes": scaled(value, ["B", "kB", "MB", "GB"])
        default: "\(digits(value)) \(unit)"
        }
    }

    /// How many times something is something else: `2.1 ×`.
    public static func ratio(_ value: Double?) -> String {
        guard let value else { return "" }
        return "\(digits(value)) ×"
    }

    /// Three significant digits.
    public static func digits(_ value: Double) -> String {
        let places = abs(value) < 9.995 ? 2 : abs(value) < 99.95 ? 1 : 0
        return String(format: "%.\(places)f", value)
    }

    private static func scaled(_ value: Double, _ units: [String]) -> String {
        var value = value
        var index = 0
        while abs(value) >= 999.5, index < units.count - 1 {
            value /= 1000
            index += 1
        }
        return "\(digits(value)) \(units[index])"
    }
}

/// A table of text in columns that line up.
public struct TextTable: Sendable {
    private var rows: [[String]]

    /// A table that has its head only.
    public init(_ head: [String]) { rows = [head] }

    /// Adds a row.
    public mutating func add(_ row: [String]) { rows.append(row) }

    /// The lines, the first column to the left and the others to the right.
    public var lines: [String] {
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in
            rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
        }
        return rows.map { row in
            let cells = row.enumerated().map { column, text in
                let space = String(repeating: " ", count: widths[column] - text.count)
                return column == 0 ? text + space : space + text
            }
            return cells.joined(separator: "  ")
        }
    }

    /// The same as a table in Markdown.
    public var markdown: [String] {
        func line(_ row: [String]) -> String { "| " + row.joined(separator: " | ") + " |" }
        guard let head = rows.first else { return [] }
        let rule = head.indices.map { $0 == 0 ? "---" : "---:" }
        return [line(head), line(rule)] + rows.dropFirst().map(line)
    }
}
