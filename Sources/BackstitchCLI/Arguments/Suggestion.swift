/// Suggests the known word that is most like a misspelt one.
enum Suggestion {
    /// A sentence that names the word nearest to a misspelt one; empty if none is near.
    static func text(_ word: String, among known: [String]) -> String {
        let near = known.map { (name: $0, distance: distance(word, $0)) }
            .filter { $0.distance <= max(1, min(2, word.count / 3)) }
            .min { ($0.distance, $0.name) < ($1.distance, $1.name) }
        return near.map { " Did you mean '\($0.name)'?" } ?? ""
    }

    /// The least number of letters to change, insert, remove or swap with their neighbour.
    static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left), Array(right))
        var rows = [Array(0...right.count)]
        for (row, letter) in left.enumerated() {
            var line = [row + 1]
            for (column, other) in right.enumerated() {
                var least = min(
                    line[column] + 1, rows[row][column + 1] + 1,
                    rows[row][column] + (letter == other ? 0 : 1))
                if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
                    least = min(least, rows[row - 1][column - 1] + 1)
                }
                line.append(least)
            }
            rows.append(line)
        }
        return rows[left.count][right.count]
    }
}
