/// The texts of elements in the small documents that S3-compatible services answer with.
///
/// It finds elements by name wherever they are, which is enough for these and does not build a tree:
/// elements of a name are not inside one another.
struct XMLText {
    private let text: Substring

    init(_ bytes: [UInt8]) { text = Substring(String(decoding: bytes, as: UTF8.self)) }

    private init(_ text: Substring) { self.text = text }

    /// The texts of all elements of a name, in their order.
    func all(_ name: String) -> [String] { elements(name).map { Self.unescaped($0.text) } }

    /// The text of the first element of a name.
    func first(_ name: String) -> String? { all(name).first }

    /// The insides of all elements of a name.
    func elements(_ name: String) -> [XMLText] {
        var found: [XMLText] = []
        var rest = text
        while let start = rest.firstRange(of: "<\(name)") {
            rest = rest[start.upperBound...]
            guard let next = rest.first, next == ">" || next.isWhitespace,
                let end = rest.firstIndex(of: ">")
            else { continue }
            rest = rest[rest.index(after: end)...]
            guard let close = rest.firstRange(of: "</\(name)>") else { return found }
            found.append(XMLText(rest[..<close.lowerBound]))
            rest = rest[close.upperBound...]
        }
        return found
    }

    private static func unescaped(_ text: Substring) -> String {
        guard text.contains("&") else { return String(text) }
        var result = ""
        var rest = text
        while let start = rest.firstIndex(of: "&") {
            result += rest[..<start]
            rest = rest[rest.index(after: start)...]
            guard let end = rest.firstIndex(of: ";") else { return result + "&" + rest }
            let name = rest[..<end]
            switch name {
            case "lt": result += "<"
            case "gt": result += ">"
            case "amp": result += "&"
            case "quot": result += "\""
            case "apos": result += "'"
            default:
                let number =
                    name.hasPrefix("#x")
                    ? UInt32(name.dropFirst(2), radix: 16)
                    : name.hasPrefix("#") ? UInt32(name.dropFirst()) : nil
                result += number.flatMap(Unicode.Scalar.init).map { String(Character($0)) } ?? ""
            }
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }

    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
