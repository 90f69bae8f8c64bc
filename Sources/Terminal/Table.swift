/// Columns of text.
package enum Table {
    /// The rows as lines, every column as wide as its widest cell and the last one as it is.
    ///
    /// - Parameter rightAligned: The columns whose cells stand at the right, such as numbers.
    package static func lines(
        _ rows: [[String]], indent: Int = 0, rightAligned: Set<Int> = []
    ) -> [String] {
        var widths: [Int] = []
        for row in rows {
            for (column, cell) in row.enumerated() {
                if column == widths.count { widths.append(0) }
                widths[column] = max(widths[column], cell.count)
            }
        }
        return rows.map { row in
            let cells = row.enumerated().map { column, cell -> String in
                let padding = String(repeating: " ", count: widths[column] - cell.count)
                if rightAligned.contains(column) { return padding + cell }
                return column == row.count - 1 ? cell : cell + padding
            }
            return String(repeating: " ", count: indent) + cells.joined(separator: "  ")
        }
    }
}
