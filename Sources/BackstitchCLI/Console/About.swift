/// What the program is called, for every part that names it.
enum About {
    static let name = "backstitch"
    static let version = "0.1.0"
}
