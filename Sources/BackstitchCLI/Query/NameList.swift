extension String {
    /// The names of a list with commas between them. A comma in parentheses is part of a name, and the quotes
    /// around a time zone there are not: `name,day(born, 'Europe/Berlin')`.
    var listedNames: [String] {
        var names: [String] = []
        var name = ""
        var depth = 0
        for character in self {
            switch character {
            case "," where depth == 0:
                names.append(name)
                name = ""
                continue
            case "'" where depth > 0, "\"" where depth > 0: continue
            case "(": depth += 1
            case ")": depth = max(0, depth - 1)
            default: break
            }
            name.append(character)
        }
        return (names + [name]).filter { !$0.isEmpty }
    }
}
